import type { JsonObject, JsonValue } from '#pkg/apimachinery/index';
import { FieldBudget, wireFieldsOf } from '../protobuf/wire-fields.ts';

/** For tests: how a field of a gnostic message is read. */
type Reader = (bytes: Buffer, into: JsonObject) => void;
type Readers = Readonly<Record<number, Reader>>;

const text =
  (name: string): Reader =>
  (bytes, into) => {
    into[name] = bytes.toString();
  };
const texts =
  (name: string): Reader =>
  (bytes, into) =>
    append(into, name, bytes.toString());
const any = (bytes: Buffer): JsonValue => JSON.parse(only(bytes, 2).toString()) as JsonValue;
const extension: Reader = (bytes, into) => {
  into[only(bytes, 1).toString()] = any(only(bytes, 2));
};
const parameters: Reader = (bytes, into) => append(into, 'parameters', parameter(bytes));

const schemaReaders: Readers = {
  1: text('$ref'),
  2: text('format'),
  3: text('title'),
  4: text('description'),
  13: text('pattern'),
  19: texts('required'),
  20: (bytes, into) => append(into, 'enum', any(bytes)),
  21: (bytes, into) => {
    into['additionalProperties'] = bytes[0] === 0x10 ? bytes[1] === 1 : schema(only(bytes, 1));
  },
  22: (bytes, into) => {
    into['type'] = only(bytes, 1).toString();
  },
  23: (bytes, into) => {
    into['items'] = schema(only(bytes, 1));
  },
  25: (bytes, into) => {
    into['properties'] = entries(bytes, 1, schema);
  },
  30: (bytes, into) => {
    into['example'] = any(bytes);
  },
  31: extension,
};
const schemaNumbers: Readonly<Record<number, string>> = {
  8: 'exclusiveMaximum',
  10: 'exclusiveMinimum',
  11: 'maxLength',
  12: 'minLength',
  14: 'maxItems',
  15: 'minItems',
  16: 'uniqueItems',
  17: 'maxProperties',
  18: 'minProperties',
};
const booleans = new Set(['exclusiveMaximum', 'exclusiveMinimum', 'uniqueItems', 'required']);
const method =
  (name: string): Reader =>
  (bytes, into) => {
    into[name] = message(bytes, {
      6: texts('produces'),
      7: texts('consumes'),
      8: parameters,
      9: (responses, operation) => {
        operation['responses'] = entries(responses, 1, (value) => response(only(value, 1)));
      },
      13: extension,
    });
  };

/** `openapi.v2.Document` as JSON, without numbers of type double: by the field numbers of gnostic's OpenAPIv2.proto. */
export function decodeSwagger(bytes: Buffer): JsonObject {
  return message(bytes, {
    1: text('swagger'),
    2: (info, into) => {
      into['info'] = message(info, { 1: text('title'), 2: text('version') });
    },
    8: (paths, into) => {
      into['paths'] = entries(paths, 2, (item) =>
        message(item, {
          2: method('get'),
          3: method('put'),
          4: method('post'),
          5: method('delete'),
          8: method('patch'),
          9: parameters,
        }),
      );
    },
    9: (definitions, into) => {
      into['definitions'] = entries(definitions, 1, schema);
    },
  });
}

function schema(bytes: Buffer): JsonObject {
  return message(bytes, schemaReaders, schemaNumbers);
}

function response(bytes: Buffer): JsonObject {
  return message(bytes, {
    1: text('description'),
    2: (item, into) => {
      into['schema'] = schema(only(item, 1));
    },
  });
}

function parameter(bytes: Buffer): JsonObject {
  const one = only(bytes, 1);
  if (one[0] === 0x0a)
    return message(
      only(one, 1),
      {
        2: text('name'),
        3: text('in'),
        5: (body, into) => {
          into['schema'] = schema(body);
        },
      },
      { 4: 'required' },
    );
  const plain = only(one, 2);
  const isInPath = plain[0] === 0x22;
  return message(
    only(plain, isInPath ? 4 : 3),
    { 2: text('in'), 3: text('description'), 4: text('name'), [isInPath ? 5 : 6]: text('type') },
    { 1: 'required', [isInPath ? 19 : 20]: 'uniqueItems' },
  );
}

function message(bytes: Buffer, readers: Readers, numbers: Readonly<Record<number, string>> = {}): JsonObject {
  const into: JsonObject = {};
  for (const field of wireFieldsOf(bytes, new FieldBudget())) {
    if ('bytes' in field) {
      const read = readers[field.number];
      if (read === undefined) throw new Error(`unknown field ${field.number}`);
      read(field.bytes, into);
    } else {
      const name = numbers[field.number];
      if (name === undefined) throw new Error(`unknown number ${field.number}`);
      into[name] = booleans.has(name) ? field.value === 1 : field.value;
    }
  }
  return into;
}

function entries(bytes: Buffer, number: number, read: (value: Buffer) => JsonValue): JsonObject {
  const found: [string, JsonValue][] = [];
  for (const field of wireFieldsOf(bytes, new FieldBudget())) {
    if (field.number !== number || !('bytes' in field)) throw new Error(`unknown entry ${field.number}`);
    found.push([only(field.bytes, 1).toString(), read(only(field.bytes, 2))]);
  }
  return Object.fromEntries(found);
}

function only(bytes: Buffer, number: number): Buffer {
  for (const field of wireFieldsOf(bytes, new FieldBudget()))
    if (field.number === number && 'bytes' in field) return field.bytes;
  throw new Error(`no field ${number}`);
}

function append(into: JsonObject, name: string, item: JsonValue): void {
  into[name] = [...((into[name] as JsonValue[] | undefined) ?? []), item];
}
