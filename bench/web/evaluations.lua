-- Asks the decision API.
require 'report'

wrk.method = 'POST'
wrk.path = '/v1/evaluations'
wrk.headers['Content-Type'] = 'application/json'
wrk.body = '{"subject": "tenant-00000001"}'
