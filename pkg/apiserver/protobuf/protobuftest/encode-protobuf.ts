import type { JsonObject, JsonValue } from '#pkg/apimachinery/index';
import type { FieldType, MessageFields } from '../decode-protobuf.ts';

/** Encodes an object as Go clients do, by the table that the server decodes with: for tests and fuzzing. */
export function encodeProtobuf({ apiVersion, kind, ...object }: JsonObject, fields: MessageFields): Buffer {
  const typeMeta = Buffer.concat([lengthField(1, text(apiVersion)), lengthField(2, text(kind))]);
  return Buffer.concat([
    Buffer.from('k8s\0'),
    lengthField(1, typeMeta),
    lengthField(2, encodeMessage(object, fields)),
    // Encoding and type of the content, which Go leaves empty.
    lengthField(3, Buffer.alloc(0)),
    lengthField(4, Buffer.alloc(0)),
  ]);
}

function encodeMessage(object: JsonObject, fields: MessageFields): Buffer {
  const parts: Buffer[] = [];
  for (const [number, { name, type }] of Object.entries(fields)) {
    const value = object[name];
    if (value !== undefined && value !== null) parts.push(encodeField(Number(number), type, value));
  }
  return Buffer.concat(parts);
}

function encodeField(number: number, type: FieldType, value: JsonValue): Buffer {
  if (typeof type === 'object') {
    if ('message' in type) return lengthField(number, encodeMessage(value as JsonObject, type.message));
    if ('list' in type)
      return Buffer.concat((value as JsonObject[]).map((item) => lengthField(number, encodeMessage(item, type.list))));
    return Buffer.concat(
      Object.entries(value as JsonObject).map(([key, item]) =>
        lengthField(number, Buffer.concat([lengthField(1, text(key)), encodeField(2, type.map, item)])),
      ),
    );
  }
  switch (type) {
    case 'texts':
      return Buffer.concat((value as string[]).map((item) => lengthField(number, text(item))));
    case 'lists':
      return Buffer.concat(
        Object.entries(value as Record<string, string[]>).map(([key, items]) =>
          lengthField(
            number,
            Buffer.concat([lengthField(1, text(key)), lengthField(2, encodeField(1, 'texts', items))]),
          ),
        ),
      );
    case 'integer':
    case 'optionalInteger':
    case 'boolean':
      return Buffer.concat([varint(BigInt(number * 8)), varint(BigInt(Number(value)))]);
    case 'time':
    case 'microTime':
      return lengthField(number, encodeTime(value as string));
    case 'bytes':
      return lengthField(number, Buffer.from(value as string, 'base64'));
    case 'rawJson':
      return lengthField(number, lengthField(1, Buffer.from(JSON.stringify(value))));
    case 'quantity':
      return lengthField(number, lengthField(1, text(value)));
    default:
      return lengthField(number, text(value));
  }
}

function encodeTime(value: string): Buffer {
  const micros = /\.(\d{6})Z$/.exec(value)?.[1] ?? '0';
  return Buffer.concat([
    varint(8n),
    varint(BigInt(Math.floor(Date.parse(value) / 1000))),
    varint(16n),
    varint(BigInt(Number(micros) * 1000)),
  ]);
}

export function lengthField(number: number, content: Buffer): Buffer {
  return Buffer.concat([varint(BigInt(number * 8 + 2)), varint(BigInt(content.length)), content]);
}

/** A negative number takes ten bytes, as in 64 bits. */
export function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  for (let rest = BigInt.asUintN(64, value); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) + 128);
  }
}

const text = (value: JsonValue | undefined): Buffer => Buffer.from(typeof value === 'string' ? value : '');
