import { isPrototypeKey, newBadRequest, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';

/** The fields of a message to read, by number; others are skipped. */
export type MessageFields = Readonly<Record<number, { name: string; type: FieldType }>>;
/** A text, a list of texts, a map from texts to lists of texts, or a message. */
export type FieldType = 'text' | 'texts' | 'lists' | MessageFields;

const magic = Buffer.from('k8s\0');
const textFields = (name: string): MessageFields => ({ 1: { name, type: 'texts' } });
const entryFields: MessageFields = {
  1: { name: 'key', type: 'text' },
  2: { name: 'value', type: textFields('items') },
};
const typeMetaFields: MessageFields = { 1: { name: 'apiVersion', type: 'text' }, 2: { name: 'kind', type: 'text' } };
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Decodes an object as Go clients write it: `k8s`, a zero byte, and an envelope with the type and the object's bytes.
 * Empty texts count as absent. Source: k8s.io/apimachinery/pkg/runtime Unknown. @throws StatusError 400
 */
export function decodeProtobuf(bytes: Buffer, fields: MessageFields): JsonObject {
  if (!bytes.subarray(0, magic.length).equals(magic)) throw malformed('it does not begin as such');
  let typeMeta: JsonObject = {};
  let object: JsonObject = {};
  for (const [number, value] of fieldsOf(bytes.subarray(magic.length))) {
    if (number === 1) typeMeta = readMessage(value, typeMetaFields);
    if (number === 2) object = readMessage(value, fields);
  }
  return { ...typeMeta, ...object };
}

function readMessage(bytes: Buffer, fields: MessageFields): JsonObject {
  const message: JsonObject = {};
  for (const [number, value] of fieldsOf(bytes)) {
    const field = fields[number];
    if (field === undefined) continue;
    const { name, type } = field;
    if (type === 'text') {
      const text = readText(value);
      if (text !== '') message[name] = text;
    } else if (type === 'texts') {
      const known = message[name];
      if (Array.isArray(known)) known.push(readText(value));
      else message[name] = [readText(value)];
    } else if (type === 'lists') {
      const lists = (message[name] ??= {}) as JsonObject;
      const { key = '', value: list } = readMessage(value, entryFields) as {
        key?: string;
        value?: { items?: JsonValue[] };
      };
      if (!isPrototypeKey(key)) lists[key] = list?.items ?? [];
    } else {
      message[name] = readMessage(value, type);
    }
  }
  return message;
}

function readText(bytes: Buffer): string {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw malformed('a text in it is not UTF-8');
  }
  if (text.includes('\0')) throw malformed('a text in it holds U+0000');
  return text;
}

/** The fields with a length; numbers are skipped. Source: protobuf.dev/programming-guides/encoding. */
function* fieldsOf(bytes: Buffer): Generator<[number, Buffer]> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = bytes[at];
      if (byte === undefined) break;
      at += 1;
      value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw malformed('a number in it does not end');
  };
  while (at < bytes.length) {
    const tag = varint();
    const wireType = tag % 8;
    const length = wireType === 2 ? varint() : wireType === 1 ? 8 : wireType === 5 ? 4 : 0;
    if (wireType === 0) varint();
    else if (length === 0 && wireType !== 2) throw malformed('a field in it is of an unknown type');
    if (length > bytes.length - at) throw malformed('a field in it does not end');
    if (wireType === 2) yield [Math.floor(tag / 8), bytes.subarray(at, at + length)];
    at += length;
  }
}

function malformed(detail: string): Error {
  return newBadRequest(`the body of the request is no object in Kubernetes' protobuf: ${detail}`);
}
