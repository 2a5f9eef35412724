import fc from '../../node_modules/fast-check/lib/fast-check.js';

/**
 * What tests have as `fast-check`: the same properties are tried with the same values each time, so that a change is
 * judged by what it changes. `SVC_TEST_SEED` draws others.
 */
fc.configureGlobal({ seed: Number(process.env['SVC_TEST_SEED'] ?? 1) });

export * from '../../node_modules/fast-check/lib/fast-check.js';
export default fc;
