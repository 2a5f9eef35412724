import { compileFunction, createContext, Script, type Context } from 'node:vm';
import type { KeyProblem } from './key-messages.ts';

/**
 * Matches a call of `import`, or text that could be one: it would throw an error from outside the context, which gives
 * access to all of Node. Code cannot be created from text at run time, so this check suffices; it also refuses comments
 * that look like a call.
 */
const importCall = /(?<![\w$])import\s*[(./<-]/;
/** Time to load a script and define its functions. Milliseconds. */
const loadTimeoutMs = 1000;
/** Limit of one function's values, in characters of JSON. */
const maxResultLength = 1024 * 1024;

/**
 * Runs first in a context. Keys must not depend on time and place, so it removes clock and randomness. It also removes
 * functions that wait, or allocate memory that the process's limits do not count. Errors have no stack: Node's own code
 * creates it, and a stack overflow there throws an error from outside the context. `run` parses each object anew for
 * each function, so no function sees another's changes. Results are built from strings and numbers only, because
 * scripts can change what lists and objects inherit.
 */
const prelude = new Script(
  `'use strict';
(() => {
  const { parse, stringify } = JSON;
  const { isArray, from } = Array;
  const { isFinite } = Number;
  const { slice } = String.prototype;
  const { apply, construct, defineProperty, deleteProperty } = Reflect;
  const RealDate = Date, OldSet = Set, Text = String, Fault = TypeError;
  const { toISOString, getTime } = RealDate.prototype;
  for (const name of ['ArrayBuffer', 'SharedArrayBuffer', 'Atomics', 'DataView', 'Uint8Array', 'Int8Array', 'Uint16Array', 'Int16Array', 'Uint32Array', 'Int32Array',
    'Float16Array', 'Float32Array', 'Float64Array', 'Uint8ClampedArray', 'BigUint64Array', 'BigInt64Array', 'WebAssembly', 'WeakRef', 'FinalizationRegistry', 'console', 'Intl']) {
    deleteProperty(globalThis, name);
  }
  deleteProperty(Math, 'random');
  deleteProperty(Error, 'captureStackTrace');
  defineProperty(Error, 'stackTraceLimit', { value: undefined, writable: false, configurable: false });
  const Clockless = function Date(...parts) {
    if (new.target === undefined || parts.length === 0) throw new Fault('a key function has no clock: new Date() needs a value');
    return construct(RealDate, parts, new.target);
  };
  Clockless.prototype = RealDate.prototype;
  Clockless.parse = RealDate.parse;
  Clockless.UTC = RealDate.UTC;
  defineProperty(RealDate.prototype, 'constructor', { value: Clockless, writable: true, configurable: true });
  globalThis.Date = Clockless;

  const valueOf = (value) => {
    switch (typeof value) {
      case 'string': case 'boolean': return value;
      case 'number': if (isFinite(value)) return value; throw new Fault('it gave ' + value);
      case 'object':
        if (value instanceof RealDate) {
          if (apply(getTime, value, []) !== apply(getTime, value, [])) throw new Fault('it gave an invalid Date');
          return apply(toISOString, value, []);
        }
        throw new Fault('it gave ' + (isArray(value) ? 'a list' : 'an object') + ' as a value');
      default: throw new Fault('it gave a ' + typeof value);
    }
  };
  const valuesOf = (found, multi) => {
    if (found === null || found === undefined) return '';
    if (!multi) return stringify(valueOf(found));
    if (!isArray(found) && !(found instanceof OldSet)) throw new Fault('it gave no list');
    let values = '';
    for (const each of from(found)) if (each !== null && each !== undefined) values += (values === '' ? '' : ',') + stringify(valueOf(each));
    return values;
  };
  const words = (error) => {
    try {
      const text = Text(error instanceof Error ? error.name + ': ' + error.message : error);
      return apply(slice, text, [0, 300]);
    } catch { return 'something that cannot be told'; }
  };
  let exported;
  const functions = { __proto__: null };
  const functionOf = (name) => {
    if (functions[name] !== undefined) return functions[name];
    const member = exported === null || exported === undefined ? undefined : exported[name];
    return typeof member === 'function' ? (functions[name] = (object) => member(object)) : undefined;
  };
  const faulty = (fault) => '{"f":' + stringify(fault) + '}';
  const one = (text, name, multi) => {
    try {
      const values = valuesOf(functionOf(name)(parse(text)), multi);
      return values.length > ${maxResultLength} ? faulty(name + ' gave too much') : '{"v":[' + values + ']}';
    } catch (error) { return faulty(name + ' threw ' + words(error)); }
  };
  const bind = (script, names) => {
    try { exported = script(); } catch (error) { return '[{"message":' + stringify(words(error)) + '}]'; }
    const wanted = parse(names);
    let problems = '';
    for (let i = 0; i < wanted.length; i += 1) {
      const name = wanted[i];
      let isThere = false;
      try { isThere = functionOf(name) !== undefined; } catch {}
      if (!isThere) problems += (problems === '' ? '' : ',') + '{"function":' + stringify(name) + ',"message":' + stringify('the text exports no function ' + name) + '}';
    }
    return '[' + problems + ']';
  };
  const run = (input) => {
    const { calls, objects } = parse(input);
    let rows = '';
    for (let i = 0; i < objects.length; i += 1) {
      let row = '';
      for (let j = 0; j < calls.length; j += 1) row += (row === '' ? '' : ',') + one(objects[i], calls[j].function, calls[j].multi);
      rows += (rows === '' ? '' : '\\n') + '[' + row + ']';
    }
    return rows;
  };
  defineProperty(globalThis, 'svc:input', { value: '', writable: true });
  defineProperty(globalThis, 'svc:names', { value: '[]', writable: true });
  defineProperty(globalThis, 'svc:script', { value: undefined, writable: true });
  defineProperty(globalThis, 'svc:bind', { value: bind });
  defineProperty(globalThis, 'svc:run', { value: run });
})();`,
  { filename: 'svc:prelude' },
);
// Uses `this`, because a script can reassign globalThis.
const binding = new Script(`this['svc:bind'](this['svc:script'], this['svc:names'])`, { filename: 'svc:bind' });
const running = new Script(`this['svc:run'](this['svc:input'])`, { filename: 'svc:run' });

/** Runs code that should end within `limitMs`, under a watch that ends it otherwise. */
export type Within = <T>(limitMs: number, run: () => T) => T;

/** One script's functions, in a separate global scope without any object of Node. Only strings pass in and out. */
export class KeyContext {
  readonly #text: string;
  readonly #within: Within;
  #context: Context | undefined;

  constructor(text: string, within: Within) {
    this.#text = text;
    this.#within = within;
  }

  /**
   * Loads the script. Returns its problems, and which of these functions are missing. @throws SyntaxError, or an error
   * with code ERR_SCRIPT_EXECUTION_TIMEOUT
   */
  load(names: readonly string[] = []): KeyProblem[] {
    if (importCall.test(this.#text))
      return [
        {
          message:
            'it can import nothing: "import" with a bracket, a dot or a comment behind it may stand nowhere in it',
        },
      ];
    return this.#within(loadTimeoutMs, () => {
      const context = createContext(
        { __proto__: null },
        { codeGeneration: { strings: false, wasm: false }, microtaskMode: 'afterEvaluate' },
      );
      prelude.runInContext(context);
      // A function, so that errors of the script are caught inside the context: reading them here could run more of the
      // script, without a time limit.
      context['svc:script'] = compileFunction(
        `${this.#text}\n;return typeof indexKeys === 'undefined' ? undefined : indexKeys;`,
        [],
        { filename: 'index-keys.js', parsingContext: context },
      );
      context['svc:names'] = JSON.stringify(names);
      const problems = JSON.parse(textOf(binding.runInContext(context, { timeout: loadTimeoutMs }))) as KeyProblem[];
      this.#context = context;
      return problems;
    });
  }

  /**
   * A row of JSON per object. @throws an error with code ERR_SCRIPT_EXECUTION_TIMEOUT after the time; unfinished work
   * is lost
   */
  run(input: string, timeoutMs: number): string[] {
    if (this.#context === undefined) {
      const [problem] = this.load();
      if (problem !== undefined) throw new Error(problem.message);
    }
    const context = this.#context!;
    try {
      context['svc:input'] = input;
      const rows = this.#within(timeoutMs, () => textOf(running.runInContext(context, { timeout: timeoutMs })));
      context['svc:input'] = '';
      return rows.split('\n');
    } catch (error) {
      this.#context = undefined;
      throw error;
    }
  }
}

function textOf(found: unknown): string {
  if (typeof found !== 'string') throw new TypeError('it gave no text');
  return found;
}
