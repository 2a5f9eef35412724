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

const surrogates = { first: 0xd800, count: 0x800 };
/** The same values as the unit `binary`, whose map of all 1 112 064 characters costs each worker a second and 100 MB. */
const anyCharacter = fastCheck.nat({ max: 0x10ffff - surrogates.count }).map(
  (index) => String.fromCodePoint(index < surrogates.first ? index : index + surrogates.count),
  (character) => {
    if (typeof character !== 'string' || !/^\P{Cs}$/su.test(character)) throw new Error('not one character');
    const point = character.codePointAt(0)!;
    return point < surrogates.first ? point : point - surrogates.count;
  },
);

export function string(constraints: fastCheck.StringConstraints = {}): fastCheck.Arbitrary<string> {
  return fastCheck.string(constraints.unit === 'binary' ? { ...constraints, unit: anyCharacter } : constraints);
}

export function jsonValue(constraints: fastCheck.JsonSharedConstraints = {}): fastCheck.Arbitrary<fastCheck.JsonValue> {
  return fastCheck.jsonValue(
    constraints.stringUnit === 'binary' ? { ...constraints, stringUnit: anyCharacter } : constraints,
  );
}

export * from '../../node_modules/fast-check/lib/fast-check.js';
export default { ...fastCheck, assert, jsonValue, string };
