import {
  decodeJson,
  decodeYamlInTurns,
  isJsonObject,
  newBadRequest,
  newInvalid,
  newUnsupportedMediaType,
  type JsonObject,
  type JsonValue,
  type StatusCause,
} from '#pkg/apimachinery/index';
import type { EndpointDefinition, EndpointRequest } from '../../../definition/endpoint-definition.ts';
import type { EndpointCall } from '../../../endpoint/endpoint-call.ts';
import { plainSchema } from './plain-schema.ts';
import { isList, valueOfText } from './read-text.ts';
import type { SchemaCheck, SchemaChecker } from './schema-checker.ts';

const bodyTypes = ['application/json', 'application/yaml', 'text/yaml'] as const;

interface Part {
  schema: JsonObject;
  check: SchemaCheck;
}

/** Converts a call of an endpoint to the request that its handler gets, validated by the endpoint's schemas. */
export class RequestReader {
  readonly #operationId: string;
  readonly #group: string;
  readonly #params: Part | undefined;
  readonly #query: Part | undefined;
  readonly #body: Part | undefined;

  /** @throws Error for an invalid schema */
  constructor({ params, query, body, group }: EndpointDefinition, operationId: string, checker: SchemaChecker) {
    const part = (schema: EndpointDefinition['body'], root: string): Part | undefined => {
      if (schema === undefined) return undefined;
      const plain = plainSchema(schema, root);
      return { schema: plain, check: checker.compile(plain, root) };
    };
    this.#operationId = operationId;
    this.#group = group;
    [this.#params, this.#query, this.#body] = [part(params, 'params'), part(query, 'query'), part(body, 'body')];
  }

  /** @throws StatusError 400 for an unreadable request, 413, 415, 422 with a cause for each invalid field */
  async read(call: EndpointCall): Promise<EndpointRequest<JsonObject, JsonObject, JsonValue | undefined>> {
    const params = this.#readParams(call.params);
    const query = this.#readQuery(call.query);
    const body = this.#body === undefined ? undefined : await decodeBody(call);
    const causes = [
      ...(this.#params?.check(params) ?? []),
      ...(this.#query?.check(query) ?? []),
      ...(body === undefined ? [] : this.#body!.check(body)),
    ];
    if (causes.length > 0) throw this.#newInvalid(causes);
    return { params, query, body, user: call.user, requestId: call.requestId };
  }

  #readParams(given: Readonly<Record<string, string>>): JsonObject {
    const properties = propertiesOf(this.#params);
    return Object.fromEntries(
      Object.entries(given).map(([name, text]) => [name, valueOfText(checkText(text, name), own(properties, name))]),
    );
  }

  #readQuery(raw: string): JsonObject {
    const given = new URLSearchParams(raw);
    const query: JsonObject = {};
    for (const [name, schema] of Object.entries(propertiesOf(this.#query))) {
      const texts = given.getAll(name).map((text) => checkText(text, name));
      if (texts.length === 0) continue;
      if (isList(schema)) query[name] = texts.map((text) => valueOfText(text, schema['items']));
      else if (texts.length > 1) throw newBadRequest(`the parameter ${name} is given ${texts.length} times`);
      else query[name] = valueOfText(texts[0]!, schema);
    }
    return query;
  }

  #newInvalid(causes: readonly StatusCause[]): Error {
    return newInvalid({ group: this.#group, kind: this.#operationId }, '', causes);
  }
}

/** @throws StatusError 400, 413, 415, 422 */
async function decodeBody({ contentType = '', body }: EndpointCall): Promise<JsonValue> {
  const [type = '', ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const charset = parameters
    .find((parameter) => parameter.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '');
  const isKnown = type === '' || (bodyTypes as readonly string[]).includes(type);
  if (!isKnown || (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8'))
    throw newUnsupportedMediaType(bodyTypes);
  if (body === undefined || body.length === 0) throw newBadRequest('the body of the request is empty');
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const { value } = type.endsWith('/yaml') ? await decodeYamlInTurns(bytes) : decodeJson(bytes);
  return value;
}

function checkText(text: string, name: string): string {
  if (text.includes('\0')) throw newBadRequest(`the parameter ${name} must not hold the character U+0000`);
  return text;
}

function propertiesOf(part: Part | undefined): JsonObject {
  const properties = part?.schema['properties'];
  return isJsonObject(properties) ? properties : {};
}

function own(object: JsonObject, name: string): JsonValue | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
