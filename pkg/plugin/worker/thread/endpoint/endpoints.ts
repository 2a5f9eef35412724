/** Loaded only in workers whose plugin has endpoints. */
export { EndpointRunner } from './endpoint-runner.ts';
export { SchemaChecker } from './schema-checker.ts';
