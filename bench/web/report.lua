-- Prints what wrk has counted on one line, for a program to read.
function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    'summary: {"requests": %d, "micros": %d, "p50_us": %d, "p99_us": %d, "failed": %d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
