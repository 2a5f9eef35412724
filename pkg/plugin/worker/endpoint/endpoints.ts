/** What a worker loads only if its plugin has endpoints. */
export { EndpointRunner } from './endpoint-runner.ts';
export { SchemaChecker } from './schema-checker.ts';
