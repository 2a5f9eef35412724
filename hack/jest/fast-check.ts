import fc from '../../node_modules/fast-check/lib/fast-check.js';

/**
 * Replaces `fast-check` in tests: properties use the same values in each run, so that only changes of the code change
 * the result. `SVC_TEST_SEED` selects others.
 */
fc.configureGlobal({ seed: Number(process.env['SVC_TEST_SEED'] ?? 1) });

export * from '../../node_modules/fast-check/lib/fast-check.js';
export default fc;
