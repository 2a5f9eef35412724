import fc from '../../node_modules/fast-check/lib/fast-check.js';

/**
 * Replaces `fast-check` in tests: properties use the same values in each run, so that only changes of the code change
 * the result. `SVC_TEST_SEED` selects others. `npm test` tries a quarter of the values that a test asks for, and `make
 * everything` all of them.
 */
fc.configureGlobal({ seed: Number(process.env['SVC_TEST_SEED'] ?? 1) });

const share = process.env['SVC_TEST_WHOLE'] === '1' ? 1 : 1 / 4;
/** Fast-check's own. */
const defaultRuns = 100;

type Assert = typeof fc.assert;

export const assert: Assert = ((property: fc.IAsyncProperty<unknown>, parameters: fc.Parameters<unknown> = {}) =>
  fc.assert(property, {
    ...parameters,
    numRuns: Math.ceil((parameters.numRuns ?? defaultRuns) * share),
  })) as Assert;

export * from '../../node_modules/fast-check/lib/fast-check.js';
export default { ...fc, assert };
