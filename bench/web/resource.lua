-- Asks for the resource behind the middleware.
require 'report'
