import { Ajv, type ErrorObject } from 'ajv';
import type { Static, TObject } from 'typebox';
import type { JsonObject, JsonValue } from '#pkg/apimachinery/index';
import { newFieldErrors } from '../http/access-error.ts';
import { fieldFormats, type FieldRules } from './field-schemas.ts';

/**
 * Fields of a request, checked by a schema. `done` throws all faults together. Fields that the schema does not have are
 * ignored.
 */
export class CheckedFields<T extends object> {
  /** The valid values. A field that was not sent, or is invalid, is absent. */
  readonly values: Partial<T>;
  readonly #sent: JsonObject;
  /** Faults by field, in the order of the schema. */
  readonly #faults: Map<string, string[]>;

  private constructor(schema: TObject, sent: JsonObject, refused: Readonly<Record<string, string>> = {}) {
    this.#sent = sent;
    const properties = Object.entries(schema.properties) as [string, FieldRules][];
    const prepared: JsonObject = {};
    for (const [name, { prepare = (value: JsonValue) => value }] of properties)
      if (Object.hasOwn(sent, name)) prepared[name] = prepare(sent[name]!);
    const errors = errorsOf(schema, prepared);
    this.#faults = new Map(
      properties.map(([name, field]) => {
        const text = refused[name] ?? fieldFaultText(errors.get(name) ?? [], field);
        return [name, text === undefined ? [] : [text]];
      }),
    );
    this.values = Object.fromEntries(
      properties.flatMap(([name, { convert = (value: unknown) => value }]) =>
        name in prepared && this.#faults.get(name)!.length === 0 ? [[name, convert(prepared[name] as never)]] : [],
      ),
    ) as Partial<T>;
  }

  static ofBody<S extends TObject>(schema: S, fields: JsonObject): CheckedFields<Static<S>> {
    return new CheckedFields<Static<S>>(schema, fields);
  }

  /** An empty parameter counts as absent, a repeated one is a fault, unless the field is strict. */
  static ofQuery<S extends TObject>(schema: S, query: URLSearchParams): CheckedFields<Static<S>> {
    const sent: JsonObject = {};
    const refused: Record<string, string> = {};
    for (const [name, { isStrict = false }] of Object.entries(schema.properties) as [string, FieldRules][]) {
      const values = query.getAll(name);
      const [text = '', ...more] = values;
      if (isStrict) {
        if (values.length > 0) sent[name] = more.length === 0 ? text : values;
      } else if (more.length > 0) refused[name] = 'This parameter may be given once.';
      else if (text.includes('\0')) refused[name] = 'Null characters are not allowed.';
      else if (text !== '') sent[name] = text;
    }
    return new CheckedFields<Static<S>>(schema, sent, refused);
  }

  /** Was the field sent, valid or not? */
  has(name: keyof T & string): boolean {
    return Object.hasOwn(this.#sent, name);
  }

  /** Adds faults that a schema cannot express. */
  refuse(name: keyof T & string, ...faults: readonly string[]): void {
    this.#faults.get(name)!.push(...faults);
  }

  /** Throws 400 `{field: [texts]}` if there are any faults. */
  done(): T {
    const wrong = Array.from(this.#faults).filter(([, faults]) => faults.length > 0);
    if (wrong.length > 0) throw newFieldErrors(Object.fromEntries(wrong));
    return this.values as T;
  }
}

// Own properties only, as every object inherits a `constructor`. Lengths in UTF-16 units, like those of columns and
// forms.
const ajv = new Ajv({
  strict: false,
  allErrors: true,
  verbose: true,
  ownProperties: true,
  unicode: false,
  meta: false,
  validateSchema: false,
  logger: false,
});
for (const [name, validate] of Object.entries(fieldFormats)) ajv.addFormat(name, { type: 'string', validate });
ajv.addKeyword({
  keyword: 'fault',
  type: 'string',
  errors: true,
  compile: (faultOf: NonNullable<FieldRules['fault']>) => {
    const validate = Object.assign(
      (text: string) => {
        const message = faultOf(text);
        validate.errors = message === undefined ? [] : [{ keyword: 'fault', message, params: {} }];
        return message === undefined;
      },
      { errors: [] as Partial<ErrorObject>[] },
    );
    return validate;
  },
});

/** Errors by field. Ajv caches compiled schemas. */
function errorsOf(schema: TObject, value: JsonObject): Map<string, ErrorObject[]> {
  const validate = ajv.compile(schema);
  validate(value);
  const byField = new Map<string, ErrorObject[]>();
  for (const error of validate.errors ?? []) {
    const name = error.instancePath.split('/')[1] ?? String(error.params['missingProperty']);
    byField.set(name, [...(byField.get(name) ?? []), error]);
  }
  return byField;
}

type FieldSchema = FieldRules & { type?: unknown; format?: string };

/**
 * Translates Ajv's errors of a field into the texts that clients know. Of several errors the one about the type counts,
 * then the first about the text. Undefined if there are none.
 */
function fieldFaultText(errors: readonly ErrorObject[], field: FieldSchema): string | undefined {
  const error =
    errors.find(({ keyword }) => keyword === 'type') ?? errors.find(({ keyword }) => keyword !== 'enum') ?? errors[0];
  return error && textOf(error, field);
}

function textOf({ keyword, params, message, data, instancePath }: ErrorObject, field: FieldSchema): string | undefined {
  const isElement = instancePath.split('/').length > 2;
  const { limit } = params as { limit?: number };
  switch (keyword) {
    case 'required':
      return 'This field is required.';
    case 'minLength':
      return isElement ? 'An element may not be blank.' : 'This field may not be blank.';
    case 'maxLength':
      return `Ensure ${isElement ? 'each element' : 'this field'} has no more than ${limit} characters.`;
    case 'fault':
      return message;
  }
  if (field.refusal !== undefined) return field.refusal;
  return keyword === 'maxItems' ? `Ensure this field has no more than ${limit} elements.` : shapeText(field, data);
}

/** The text for a wrong type or format. */
function shapeText({ type, format }: FieldSchema, value: unknown): string {
  if (format === 'uuid') return 'Must be a valid UUID.';
  if (format === 'date-time') return 'Expected a time as in RFC 3339, like 2030-01-31T09:30:00Z.';
  if (type === 'boolean') return 'Must be a valid boolean.';
  if (type === 'array') return 'Expected a list of strings.';
  return value === null ? 'This field may not be null.' : 'Not a valid string.';
}
