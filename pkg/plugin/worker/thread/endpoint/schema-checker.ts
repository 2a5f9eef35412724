import { isIPv4, isIPv6 } from 'node:net';
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import { RE2JS } from 're2js';
import {
  fieldError,
  formatPath,
  parseTimestamp,
  type JsonObject,
  type JsonValue,
  type PathSegment,
  type StatusCause,
} from '#pkg/apimachinery/index';
import { CheckBudget, TooMuchWork } from './check-budget.ts';

const maxCauses = 100;
/** Limit of steps for one check; several times what the largest body needs. */
const maxSteps = 20_000_000;
/** Limit of steps for finding all errors rather than the first: each error takes memory. */
const maxStepsForAll = 100_000;

export type SchemaCheck = (value: JsonValue) => StatusCause[];

/**
 * Compiles schemas into checks with Ajv: defaults are filled in, values are not converted. No request can make a check
 * take much time or memory.
 */
export class SchemaChecker {
  readonly #budget = new CheckBudget();
  readonly #ajv = this.#newAjv({ allErrors: false });
  readonly #thorough = this.#newAjv({ allErrors: true });

  /** `root` is the first part of paths in errors. @throws Error for an invalid schema */
  compile(schema: JsonObject, root: string): SchemaCheck {
    const validate = this.#ajv.compile(schema);
    let findAll: ValidateFunction | undefined;
    return (value) => {
      if (this.#run(validate, value, maxSteps) === 'tooMuch')
        return [
          fieldError.invalid(
            root,
            shown(value),
            'is too much to be checked: the schema can be applied to it in too many ways',
          ),
        ];
      const { errors } = validate;
      if (errors === null || errors === undefined) return [];
      findAll ??= this.#thorough.compile(schema);
      const all = this.#run(findAll, value, maxStepsForAll) === 'tooMuch' ? errors : (findAll.errors ?? errors);
      return causesOf(all, root);
    };
  }

  #run(validate: ValidateFunction, value: JsonValue, steps: number): 'done' | 'tooMuch' {
    this.#budget.begin(steps);
    try {
      validate(value);
      return 'done';
    } catch (error) {
      if (error instanceof TooMuchWork) return 'tooMuch';
      throw error;
    }
  }

  #newAjv({ allErrors }: { allErrors: boolean }): Ajv {
    const regExp = Object.assign((source: string) => this.#patternOf(source), { code: 'patternOf' });
    const ajv = new Ajv({
      strict: false,
      allErrors,
      ownProperties: true,
      useDefaults: true,
      meta: false,
      validateSchema: false,
      addUsedSchema: false,
      logger: false,
      verbose: true,
      code: { regExp },
    });
    for (const [name, validate] of Object.entries(valueFormats)) ajv.addFormat(name, { type: 'string', validate });
    // Ajv's own compares every pair of items.
    ajv.removeKeyword('uniqueItems').addKeyword({
      keyword: 'uniqueItems',
      type: 'array',
      schemaType: 'boolean',
      validate: (unique: boolean, items: JsonValue[]) => !unique || this.#areDifferent(items),
    });
    // The same rule, but without an error for each failed alternative: nested choices would fill the memory with
    // errors.
    ajv.removeKeyword('anyOf').addKeyword({
      keyword: 'anyOf',
      schemaType: 'array',
      macro: (choices: JsonValue[]) => ({ not: { allOf: choices.map((not) => ({ not })) } }),
    });
    this.#budget.watch(ajv);
    return ajv;
  }

  /** RE2 matches in linear time, so that no request can hang the plugin. */
  #patternOf(source: string): RegExp {
    const expression = RE2JS.compile(source);
    const size = expression.programSize();
    const test = (text: string): boolean => {
      this.#budget.spend(size * text.length);
      return expression.test(text);
    };
    // Ajv calls only these, and distinguishes patterns by their text.
    return { test, toString: () => source } as unknown as RegExp;
  }

  #areDifferent(items: readonly JsonValue[]): boolean {
    const texts = items.map((item) => {
      const text = JSON.stringify(item, sortedKeys);
      this.#budget.spend(text.length);
      return text;
    });
    return new Set(texts).size === items.length;
  }
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** If no alternative matches, reports only that: it is unknown which one the client meant. */
function causesOf(errors: readonly ErrorObject[], root: string): StatusCause[] {
  const choices = new Set(
    errors
      .filter(({ keyword }) => keyword === 'anyOf' || keyword === 'oneOf')
      .map(({ schemaPath }) => `${schemaPath}/`),
  );
  return errors
    .filter(({ schemaPath }) => !Array.from(choices).some((choice) => schemaPath.startsWith(choice)))
    .slice(0, maxCauses)
    .map((error) => causeOf(error, root));
}

function causeOf(error: ErrorObject, root: string): StatusCause {
  const { keyword, message = 'is invalid', data } = error;
  const params = error.params as Record<string, unknown>;
  const path = [root, ...segmentsOf(error.instancePath)];
  const field = formatPath(path);
  const value = shown(data);
  switch (keyword) {
    case 'required':
      return fieldError.required(formatPath([...path, String(params['missingProperty'])]));
    case 'type':
      return fieldError.typeInvalid(field, value, `must be of type ${String(params['type'])}`);
    case 'enum':
      return fieldError.notSupported(field, value, (params['allowedValues'] as unknown[]).slice(0, maxCauses));
    case 'const':
      return fieldError.notSupported(field, value, [params['allowedValue']]);
    case 'additionalProperties':
      return fieldError.forbidden(
        formatPath([...path, String(params['additionalProperty'])]),
        'the field is not known',
      );
    case 'pattern':
      return fieldError.invalid(field, value, `should match '${String(params['pattern'])}'`);
    case 'uniqueItems':
      return fieldError.invalid(field, value, 'must not have the same item twice');
    case 'anyOf':
    case 'oneOf':
      return fieldError.invalid(field, value, 'is none of what the schema allows');
    default:
      return fieldError.invalid(field, value, message);
  }
}

/** The segments of a JSON pointer. */
function segmentsOf(pointer: string): PathSegment[] {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => (/^\d{1,9}$/.test(part) ? Number(part) : part.replaceAll('~1', '/').replaceAll('~0', '~')));
}

/** Shortened before conversion to text: a value may have megabytes and violate many rules. */
function shown(value: unknown): unknown {
  if (typeof value === 'string') return value.length > 200 ? `${value.slice(0, 200)}...` : value;
  if (typeof value !== 'object' || value === null) return value;
  return Array.isArray(value) ? 'array' : 'object';
}

/** The supported formats, each checked in linear time; other formats are ignored. */
const valueFormats: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': (text) => parseTimestamp(text) !== undefined,
  date: (text) => parseTimestamp(`${text}T00:00:00Z`) !== undefined,
  uuid: (text) => /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text),
  email: (text) => text.length <= 320 && /^[^\s@"<>()]+@[^\s@"<>()]+$/.test(text),
  uri: (text) => /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text) && URL.canParse(text),
  ipv4: isIPv4,
  ipv6: (text) => !text.includes('%') && isIPv6(text),
};
