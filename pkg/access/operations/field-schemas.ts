import {
  Type,
  type Static,
  type TSchema,
  type TOptional,
  type TSchemaOptions,
  type TString,
  type TUnsafe,
} from 'typebox';
import { parseTimestamp, type JsonValue } from '#pkg/apimachinery/index';
import { isUuid } from './uuid.ts';

/** What a field's schema says besides JSON Schema; `CheckedFields` follows it, and no document shows it. */
export interface FieldRules {
  /** Makes what is checked of what was sent. */
  prepare?: (sent: JsonValue) => JsonValue;
  /** What is wrong with a text that no keyword refuses. */
  fault?: (text: string) => string | undefined;
  /** Makes what the operation gets of what was checked. */
  convert?: (checked: never) => unknown;
  /** Instead of the sentence of a keyword that the value breaks, but for those about the length of a text. */
  refusal?: string;
}

export type FieldOptions = TSchemaOptions & Pick<FieldRules, 'fault' | 'refusal'> & { maxLength?: number };

/** JSON Schema's formats, as requests are checked by them. */
export const fieldFormats: Readonly<Record<string, (text: string) => boolean>> = {
  uuid: isUuid,
  'date-time': (text) => timeOf(text).getUTCFullYear() >= 1,
  // An address has a rule of its own.
  email: () => true,
};

/** One line, not blank, without the spaces around it. At most 128 UTF-16 units by default. */
export const line = ({ fault, ...options }: FieldOptions = {}): TString =>
  Type.String({
    minLength: 1,
    maxLength: 128,
    ...options,
    prepare: trimmed,
    fault: (text: string) => (/\p{Cc}/u.test(text) ? controlCharacters : fault?.(text)),
  });

/** It may be empty, and hold more than one line. */
export const freeText = (options: FieldOptions): TString =>
  Type.String({
    ...options,
    prepare: trimmed,
    fault: (text: string) => (/(?![\t\n\r])\p{Cc}/u.test(text) ? controlCharacters : undefined),
  });

/** Not empty; with the spaces around it, and with whatever is in it. */
export const exactText = (options: FieldOptions & Pick<FieldRules, 'prepare'>): TString =>
  Type.String({ minLength: 1, ...options });

/** Of a query: what is looked for. */
export const filterText = (description: string, options: TSchemaOptions = {}): TOptional<TString> =>
  Type.Optional(exactText({ maxLength: 1000, description, ...options }));

/** True and false, also as texts, in any case, and as the texts 1 and 0. */
export const flag = (options: TSchemaOptions = {}): ReturnType<typeof Type.Boolean> =>
  Type.Boolean({ ...options, prepare: flagOf });

export const uuid = (options: TSchemaOptions = {}): TString =>
  Type.String({ format: 'uuid', ...options, convert: (text: string) => text.toLowerCase() });

/** RFC 3339, in an answer. */
export const timestamp = (options: TSchemaOptions = {}): TString => Type.String({ format: 'date-time', ...options });

/** RFC 3339, in a request. */
export const time = (options: TSchemaOptions = {}): TUnsafe<Date> =>
  Type.Unsafe<Date>({ type: 'string', format: 'date-time', ...options, convert: timeOf });

/** Null, or an empty text as forms send it, is no time. */
export const optionalTime = (): TUnsafe<Date | null> =>
  Type.Unsafe<Date | null>({
    type: ['string', 'null'],
    format: 'date-time',
    prepare: (sent: JsonValue) => (sent === '' ? null : sent),
    convert: (text: string | null) => (text === null ? null : timeOf(text)),
  });

/** Texts of at most 128 UTF-16 units; one that is there twice counts once. */
export const texts = ({ fault, ...options }: FieldOptions & { maxItems: number }): TUnsafe<string[]> =>
  Type.Unsafe<string[]>({
    ...Type.Array(Type.String({ minLength: 1, maxLength: 128, fault }), options),
    prepare: (sent: JsonValue) => (Array.isArray(sent) ? sent.map(trimmed) : sent),
    convert: (checked: string[]) => [...new Set(checked)],
  });

/** Of an answer. */
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
