import {
  Type,
  type Static,
  type TInteger,
  type TSchema,
  type TOptional,
  type TSchemaOptions,
  type TString,
  type TUnsafe,
} from 'typebox';
import { parseTimestamp, type JsonValue } from '#pkg/apimachinery/index';
import { isUuid } from './uuid.ts';

/** Rules of a field beyond JSON Schema; `CheckedFields` applies them, and documents leave them out. */
export interface FieldRules {
  /** Converts the sent value before the check. */
  prepare?: (sent: JsonValue) => JsonValue;
  /** Returns a fault of the text that no keyword detects. */
  fault?: (text: string) => string | undefined;
  /** Converts the checked value for the operation. */
  convert?: (checked: never) => unknown;
  /** Message for a value that breaks a keyword, except those about the length of a text. */
  refusal?: string;
  /** In a query, an empty or repeated parameter is not special: the schema refuses it. */
  isStrict?: boolean;
}

export type FieldSchemaOptions = TSchemaOptions & Pick<FieldRules, 'fault' | 'refusal'> & { maxLength?: number };

/** Checks of JSON Schema's formats in requests. */
export const fieldFormats: Readonly<Record<string, (text: string) => boolean>> = {
  uuid: isUuid,
  'date-time': (text) => timeOf(text).getUTCFullYear() >= 1,
  // E-mail fields have their own rule.
  email: () => true,
};

/** One line, not blank, trimmed. At most 128 UTF-16 units by default. */
export const line = ({ fault, ...options }: FieldSchemaOptions = {}): TString =>
  Type.String({
    minLength: 1,
    maxLength: 128,
    ...options,
    prepare: trimmed,
    fault: (text: string) => (/\p{Cc}/u.test(text) ? controlCharacters : fault?.(text)),
  });

/** May be empty or have several lines. */
export const freeText = (options: FieldSchemaOptions): TString =>
  Type.String({
    ...options,
    prepare: trimmed,
    fault: (text: string) => (/(?![\t\n\r])\p{Cc}/u.test(text) ? controlCharacters : undefined),
  });

/** Not empty; not trimmed, any characters. */
export const exactText = (options: FieldSchemaOptions & Pick<FieldRules, 'prepare'>): TString =>
  Type.String({ minLength: 1, ...options });

/** A filter in a query. */
export const filterText = (description: string, options: TSchemaOptions = {}): TOptional<TString> =>
  Type.Optional(exactText({ maxLength: 1000, description, ...options }));

/** True or false, also as texts in any case, and as the texts 1 and 0. */
export const flag = (options: TSchemaOptions = {}): ReturnType<typeof Type.Boolean> =>
  Type.Boolean({ ...options, prepare: flagOf });

/** A whole number in a query, as its digits. */
export const wholeNumber = (least: number, description: string): TOptional<TInteger> =>
  Type.Optional(
    Type.Integer({
      minimum: least,
      description,
      isStrict: true,
      prepare: (sent: JsonValue) => (typeof sent === 'string' && /^\d{1,15}$/.test(sent) ? Number(sent) : sent),
      refusal: `A whole number from ${least} is expected.`,
    }),
  );

export const uuid = (options: TSchemaOptions = {}): TString =>
  Type.String({ format: 'uuid', ...options, convert: (text: string) => text.toLowerCase() });

/** RFC 3339, in an answer. */
export const timestamp = (options: TSchemaOptions = {}): TString => Type.String({ format: 'date-time', ...options });

/** RFC 3339, in a request. */
export const time = (options: TSchemaOptions = {}): TUnsafe<Date> =>
  Type.Unsafe<Date>({ type: 'string', format: 'date-time', ...options, convert: timeOf });

/** A time; null, or an empty text as forms send it, means none. */
export const optionalTime = (): TUnsafe<Date | null> =>
  Type.Unsafe<Date | null>({
    type: ['string', 'null'],
    format: 'date-time',
    prepare: (sent: JsonValue) => (sent === '' ? null : sent),
    convert: (text: string | null) => (text === null ? null : timeOf(text)),
  });

/** Texts of at most 128 UTF-16 units; duplicates are removed. */
export const texts = ({ fault, ...options }: FieldSchemaOptions & { maxItems: number }): TUnsafe<string[]> =>
  Type.Unsafe<string[]>({
    ...Type.Array(Type.String({ minLength: 1, maxLength: 128, fault }), options),
    prepare: (sent: JsonValue) => (Array.isArray(sent) ? sent.map(trimmed) : sent),
    convert: (checked: string[]) => [...new Set(checked)],
  });

/** A value or null, in an answer. */
export const nullable = <T extends TSchema>(schema: T): TUnsafe<Static<T> | null> =>
  Type.Unsafe<Static<T> | null>({ ...schema, type: [(schema as { type?: string }).type, 'null'] });

/** One of the texts. */
export const oneOf = <T extends string>(values: readonly T[], options: TSchemaOptions = {}): TUnsafe<T> =>
  Type.Unsafe<T>({ type: 'string', ...options, enum: [...values] });

const controlCharacters = 'Control characters are not allowed.';

function trimmed(sent: JsonValue): JsonValue {
  return typeof sent === 'string' ? sent.trim() : sent;
}

function flagOf(sent: JsonValue): JsonValue {
  const word = typeof sent === 'string' ? sent.toLowerCase() : sent;
  if (word === 'true' || word === '1') return true;
  return word === 'false' || word === '0' ? false : word;
}

function timeOf(text: string): Date {
  return new Date(parseTimestamp(text) ?? Number.NaN);
}
