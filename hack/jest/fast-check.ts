import * as fastCheck from '../../node_modules/fast-check/lib/fast-check.js';

/**
 * Replaces `fast-check` in tests: properties use the same values in each run, so that only changes of the code change
 * the result. `SVC_TEST_SEED` selects others. Of many values a quarter is enough for that; `SVC_TEST_VALUES=all`, as in
 * `make properties`, and whole tests use all.
 */
fastCheck.configureGlobal({ seed: Number(process.env['SVC_TEST_SEED'] ?? 1) });
const usesAll = process.env['SVC_TEST_VALUES'] === 'all' || process.env['SVC_TEST_WHOLE'] === '1';
/** Runs of a property from which on a quarter is taken: asynchronous ones may use servers. */
const manyRuns = { synchronous: 200, asynchronous: 8 };
const fewestRuns = 4;

export function assert<Values>(
  property: Parameters<typeof fastCheck.assert<Values>>[0],
  parameters: fastCheck.Parameters<Values> = {},
): Promise<void> | void {
  const { numRuns } = parameters;
  const many = property.isAsync() ? manyRuns.asynchronous : manyRuns.synchronous;
  const isCut = !usesAll && numRuns !== undefined && numRuns >= many;
  return fastCheck.assert(
    property,
    isCut ? { ...parameters, numRuns: Math.max(fewestRuns, Math.ceil(numRuns / 4)) } : parameters,
  );
}

export * from '../../node_modules/fast-check/lib/fast-check.js';
export default { ...fastCheck, assert };
