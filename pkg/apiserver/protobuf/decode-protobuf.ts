import { decodeJson, formatTimestamp, isPrototypeKey, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import { FieldBudget, newMalformed, wireFieldsOf, type WireField } from './wire-fields.ts';

export const protobufType = 'application/vnd.kubernetes.protobuf';

/** The fields of a message to read, by number; others are skipped. */
export type MessageFields = Readonly<Record<number, MessageField>>;

export interface MessageField {
  name: string;
  type: FieldType;
}

/**
 * How a field is read.
 *
 * - `text`, `integer`: one that Go always writes: empty and 0 are absent.
 * - `optionalInteger`, `boolean`: a pointer in Go: 0 and false are values.
 * - `time`, `microTime`: RFC 3339, with six digits of a second for the latter.
 * - `quantity`, `rawJson`: a message of one text, or of bytes that are JSON.
 * - `texts`, or a list: repeated. A map has texts as keys. `lists` is a map to lists of texts.
 * - Otherwise a message.
 */
export type FieldType =
  Scalar | 'texts' | 'lists' | { list: MessageFields } | { map: Scalar } | { message: MessageFields };
type Scalar =
  'text' | 'integer' | 'optionalInteger' | 'boolean' | 'time' | 'microTime' | 'bytes' | 'rawJson' | 'quantity';

const magic = Buffer.from('k8s\0');
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const typeMetaFields: MessageFields = { 1: { name: 'apiVersion', type: 'text' }, 2: { name: 'kind', type: 'text' } };
const listFields: MessageFields = { 1: { name: 'items', type: 'texts' } };
/** The years 1 to 9999, in seconds since 1970. */
const [firstSecond, lastSecond] = [-62_135_596_800, 253_402_300_799];

/**
 * Decodes an object as Go clients write it: `k8s`, a zero byte, and an envelope with the type and the object's bytes.
 * Empty texts count as absent. Source: k8s.io/apimachinery/pkg/runtime Unknown.
 * @throws StatusError 400; 413 for more than 100 000 fields
 */
export function decodeProtobuf(bytes: Buffer, fields: MessageFields): JsonObject {
  if (!bytes.subarray(0, magic.length).equals(magic)) throw newMalformed('it does not begin as such');
  const decoder = new MessageDecoder();
  let typeMeta: JsonObject = {};
  let object: JsonObject = {};
  for (const field of wireFieldsOf(bytes.subarray(magic.length), decoder.budget)) {
    if (!('bytes' in field)) continue;
    if (field.number === 1) typeMeta = decoder.message(field.bytes, typeMetaFields);
    if (field.number === 2) object = decoder.message(field.bytes, fields);
  }
  return { ...typeMeta, ...object };
}

class MessageDecoder {
  readonly budget = new FieldBudget();

  message(bytes: Buffer, fields: MessageFields): JsonObject {
    const message: JsonObject = {};
    for (const field of wireFieldsOf(bytes, this.budget)) {
      const known = fields[field.number];
      if (known !== undefined) this.#read(message, known, field);
    }
    return message;
  }

  #read(message: JsonObject, { name, type }: MessageField, field: WireField): void {
    if (typeof type === 'string' && type !== 'texts' && type !== 'lists') {
      const value = readScalar(type, field);
      if (value !== undefined) message[name] = value;
      return;
    }
    // Another encoding of the field: it is skipped like an unknown one.
    if (!('bytes' in field)) return;
    if (type === 'texts') append(message, name, readText(field.bytes));
    else if (type === 'lists') this.#readEntry(message, name, field.bytes, (bytes) => this.#texts(bytes));
    else if ('list' in type) append(message, name, this.message(field.bytes, type.list));
    else if ('map' in type) this.#readEntry(message, name, field.bytes, (bytes) => readMapValue(type.map, bytes));
    else message[name] = this.message(field.bytes, type.message);
  }

  #texts(bytes: Buffer): JsonValue {
    return this.message(bytes, listFields)['items'] ?? [];
  }

  /** An entry of a map is a message of key and value; a missing one is empty. */
  #readEntry(message: JsonObject, name: string, bytes: Buffer, readValue: (bytes: Buffer) => JsonValue): void {
    let key = '';
    let value: Buffer = Buffer.alloc(0);
    for (const field of wireFieldsOf(bytes, this.budget)) {
      if (!('bytes' in field)) continue;
      if (field.number === 1) key = readText(field.bytes);
      if (field.number === 2) value = field.bytes;
    }
    const entries = (message[name] ??= {}) as JsonObject;
    if (!isPrototypeKey(key)) entries[key] = readValue(value);
  }
}

function append(message: JsonObject, name: string, item: JsonValue): void {
  const known = message[name];
  if (Array.isArray(known)) known.push(item);
  else message[name] = [item];
}

function readMapValue(type: Scalar, bytes: Buffer): JsonValue {
  return readScalar(type, { number: 2, bytes }) ?? '';
}

function readScalar(type: Scalar, field: WireField): JsonValue | undefined {
  return 'bytes' in field ? readBytes(type, field.bytes) : readNumber(type, field.value);
}

function readNumber(type: Scalar, value: number): JsonValue | undefined {
  if (type === 'boolean') return value !== 0;
  if (type !== 'integer' && type !== 'optionalInteger') return undefined;
  if (!Number.isSafeInteger(value)) throw newMalformed('a number in it is beyond 2^53');
  return value === 0 && type === 'integer' ? undefined : value;
}

function readBytes(type: Scalar, bytes: Buffer): JsonValue | undefined {
  switch (type) {
    case 'text':
      return readText(bytes) || undefined;
    case 'bytes':
      return bytes.toString('base64');
    case 'rawJson': {
      const json = onlyField(bytes);
      return json.length === 0 ? undefined : decodeJson(json).value;
    }
    case 'quantity':
      return readText(onlyField(bytes));
    case 'time':
    case 'microTime':
      return readTime(bytes, type === 'microTime');
    default:
      return undefined;
  }
}

/** The content of a message of one field. */
function onlyField(bytes: Buffer): Buffer {
  for (const field of wireFieldsOf(bytes, new FieldBudget()))
    if (field.number === 1 && 'bytes' in field) return field.bytes;
  return Buffer.alloc(0);
}

/** Go writes a time that is not set as an empty message. */
function readTime(bytes: Buffer, isMicro: boolean): string | undefined {
  if (bytes.length === 0) return undefined;
  let seconds = 0;
  let nanoseconds = 0;
  for (const field of wireFieldsOf(bytes, new FieldBudget())) {
    if (field.number === 1 && 'value' in field) seconds = field.value;
    if (field.number === 2 && 'value' in field) nanoseconds = field.value;
  }
  if (seconds < firstSecond || seconds > lastSecond || nanoseconds < 0 || nanoseconds > 999_999_999)
    throw newMalformed('a time in it is not between the years 1 and 9999');
  const text = formatTimestamp(seconds * 1000);
  if (!isMicro) return text;
  const micros = String(Math.floor(nanoseconds / 1000)).padStart(6, '0');
  return text.replace('Z', `.${micros}Z`);
}

function readText(bytes: Buffer): string {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw newMalformed('a text in it is not UTF-8');
  }
  if (text.includes('\0')) throw newMalformed('a text in it holds U+0000');
  return text;
}
