import { isJsonObject, type JsonObject, type JsonValue, type SlicedWork } from '#pkg/apimachinery/index';
import { MessageWriter } from '../protobuf/message-writer.ts';

type Scalar = 'text' | 'texts' | 'boolean' | 'count' | 'number' | 'any' | 'anys';
type Fields = Readonly<Record<string, readonly [number: number, type: Scalar]>>;

const schemaFields: Fields = {
  $ref: [1, 'text'],
  format: [2, 'text'],
  title: [3, 'text'],
  description: [4, 'text'],
  multipleOf: [6, 'number'],
  maximum: [7, 'number'],
  exclusiveMaximum: [8, 'boolean'],
  minimum: [9, 'number'],
  exclusiveMinimum: [10, 'boolean'],
  maxLength: [11, 'count'],
  minLength: [12, 'count'],
  pattern: [13, 'text'],
  maxItems: [14, 'count'],
  minItems: [15, 'count'],
  uniqueItems: [16, 'boolean'],
  maxProperties: [17, 'count'],
  minProperties: [18, 'count'],
  required: [19, 'texts'],
  enum: [20, 'anys'],
  example: [30, 'any'],
};
const operationFields: Fields = { produces: [6, 'texts'], consumes: [7, 'texts'] };
const pathParameterFields: Fields = {
  required: [1, 'boolean'],
  in: [2, 'text'],
  description: [3, 'text'],
  name: [4, 'text'],
  type: [5, 'text'],
  uniqueItems: [19, 'boolean'],
};
const queryParameterFields: Fields = { ...pathParameterFields, type: [6, 'text'], uniqueItems: [20, 'boolean'] };
const bodyParameterFields: Fields = { name: [2, 'text'], in: [3, 'text'], required: [4, 'boolean'] };
const methodNumbers = { get: 2, put: 3, post: 4, delete: 5, patch: 8 } as const;

/** The characters of a JSON text that YAML 1.1 does not have in quotes, or takes for the end of a line. */
const unsafeInYaml = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;
/** Each suspension passes all levels of a schema, so not every one has its own. */
const schemasPerSlice = 32;
let schemasWritten = 0;
/** YAML reads a key up to 1024 characters; JSON may write one character as six. */
const maxKeyLength = 170;

/** The fields of `openapi.v2.Document` that hold others. Source: github.com/google/gnostic-models, OpenAPIv2.proto. */
export const documentFields = { swagger: 1, info: 2, paths: 8, definitions: 9 } as const;

export function infoMessage(title: string, version: string): Buffer {
  const info = new MessageWriter();
  info.text(1, title);
  info.text(2, version);
  return info.message();
}

/** An entry of `Definitions`. */
export function* definitionEntry(name: string, schema: JsonObject): SlicedWork<Buffer> {
  return entry(1, name, yield* schemaMessage(schema));
}

/** An entry of `Paths`. */
export function* pathEntry(path: string, item: JsonObject): SlicedWork<Buffer> {
  const message = new MessageWriter();
  for (const [method, number] of Object.entries(methodNumbers)) {
    const operation = item[method];
    if (isJsonObject(operation)) message.bytes(number, yield* operationMessage(operation));
  }
  for (const parameter of objects(item['parameters'])) message.bytes(9, yield* parameterMessage(parameter));
  return entry(2, path, message.message());
}

function* schemaMessage(schema: JsonObject): SlicedWork<Buffer> {
  schemasWritten = (schemasWritten + 1) % schemasPerSlice;
  if (schemasWritten === 0) yield;
  const message = new MessageWriter();
  writeScalars(message, schemaFields, schema);
  const { additionalProperties, type, items, properties } = schema;
  if (isJsonObject(additionalProperties)) message.bytes(21, wrapped(1, yield* schemaMessage(additionalProperties)));
  else if (additionalProperties === true) message.bytes(21, Buffer.from([0x10, 1]));
  else if (additionalProperties === false) message.bytes(21, Buffer.from([0x10, 0]));
  if (typeof type === 'string') message.bytes(22, wrapped(1, Buffer.from(type)));
  if (isJsonObject(items)) message.bytes(23, wrapped(1, yield* schemaMessage(items)));
  if (isJsonObject(properties)) {
    const entries: Buffer[] = [];
    for (const [name, property] of Object.entries(properties))
      entries.push(yield* definitionEntry(name, property as JsonObject));
    message.bytes(25, Buffer.concat(entries));
  }
  writeExtensions(message, 31, schema);
  return message.message();
}

function* operationMessage(operation: JsonObject): SlicedWork<Buffer> {
  const message = new MessageWriter();
  writeScalars(message, operationFields, operation);
  for (const parameter of objects(operation['parameters'])) message.bytes(8, yield* parameterMessage(parameter));
  const responses = new MessageWriter();
  for (const [code, response] of Object.entries(operation['responses'] as JsonObject)) {
    const { description, schema } = response as JsonObject;
    const one = new MessageWriter();
    writeScalar(one, 1, 'text', description!);
    if (isJsonObject(schema)) one.bytes(2, wrapped(1, yield* schemaMessage(schema)));
    const named = new MessageWriter();
    named.text(1, code);
    named.bytes(2, wrapped(1, one.message()));
    responses.bytes(1, named.message());
  }
  message.bytes(9, responses.message());
  writeExtensions(message, 13, operation);
  return message.message();
}

/** A `ParametersItem`: its place decides between the messages that it may be. */
function* parameterMessage(parameter: JsonObject): SlicedWork<Buffer> {
  const message = new MessageWriter();
  if (parameter['in'] === 'body') {
    writeScalars(message, bodyParameterFields, parameter);
    message.bytes(5, yield* schemaMessage(parameter['schema'] as JsonObject));
    return wrapped(1, wrapped(1, message.message()));
  }
  const isInPath = parameter['in'] === 'path';
  writeScalars(message, isInPath ? pathParameterFields : queryParameterFields, parameter);
  return wrapped(1, wrapped(2, wrapped(isInPath ? 4 : 3, message.message())));
}

function writeScalars(message: MessageWriter, fields: Fields, object: JsonObject): void {
  for (const [name, value] of Object.entries(object)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field !== undefined) writeScalar(message, field[0], field[1], value);
  }
}

/** What is not of the field's type is left out, and so is what means the same as an absent field. */
function writeScalar(message: MessageWriter, number: number, type: Scalar, value: JsonValue): void {
  switch (type) {
    case 'text':
      if (typeof value === 'string' && value !== '') message.text(number, value);
      return;
    case 'texts':
      for (const text of Array.isArray(value) ? value : []) if (typeof text === 'string') message.text(number, text);
      return;
    case 'boolean':
      if (value === true) message.boolean(number, true);
      return;
    case 'count':
      if (Number.isSafeInteger(value) && Number(value) > 0) message.integer(number, Number(value));
      return;
    case 'number':
      if (typeof value === 'number' && value !== 0) message.double(number, value);
      return;
    case 'any':
      writeAny(message, number, value);
      return;
    case 'anys':
      for (const one of Array.isArray(value) ? value : []) writeAny(message, number, one);
  }
}

function writeExtensions(message: MessageWriter, number: number, object: JsonObject): void {
  for (const [name, value] of Object.entries(object)) {
    if (!name.startsWith('x-')) continue;
    const named = new MessageWriter();
    named.text(1, name);
    writeAny(named, 2, value);
    message.bytes(number, named.message());
  }
}

/**
 * A value of any type, as YAML: JSON is that, but for a few characters and long keys. kubectl refuses the whole document
 * if it cannot read one value, so a value with a long key is left out.
 */
function writeAny(message: MessageWriter, number: number, value: JsonValue): void {
  let isReadable = true;
  const json = JSON.stringify(value, (key, inner: JsonValue) => {
    if (key.length > maxKeyLength) isReadable = false;
    return inner;
  });
  if (isReadable) message.bytes(number, wrapped(2, Buffer.from(json.replaceAll(unsafeInYaml, unicodeEscape))));
}

function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** One field of a message that has no others. */
function wrapped(number: number, bytes: Buffer): Buffer {
  const message = new MessageWriter();
  message.bytes(number, bytes);
  return message.message();
}

function entry(number: number, name: string, value: Buffer): Buffer {
  const named = new MessageWriter();
  named.text(1, name);
  named.bytes(2, value);
  return wrapped(number, named.message());
}

function objects(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
