import { runInThisContext } from 'node:vm';
import type { ComputedResult } from '#pkg/apimachinery/index';
import type { KeyEvaluator } from '../key-evaluator.ts';

type Functions = Record<string, (object: unknown) => unknown>;

/** Runs functions without a sandbox: test functions are trusted. */
export const sampleKeyEvaluator: KeyEvaluator = {
  evaluate: async (script, calls, objects) => {
    const functions = runInThisContext(`(() => { ${script.text}; return indexKeys; })()`) as Functions;
    return objects.map((text) =>
      calls.map((call) => resultOf(() => functions[call.function]!(JSON.parse(text)), call.multi)),
    );
  },
};

function resultOf(run: () => unknown, isMulti: boolean): ComputedResult {
  try {
    const found = run();
    if (isMulti) return { values: (found as unknown[] | null) ?? [] };
    return { values: found === null || found === undefined ? [] : [found] };
  } catch (error) {
    return { fault: String(error) };
  }
}
