import { isUtf8 } from 'node:buffer';
import { decodeJson, isJsonObject, isStatusError, type JsonObject } from '#pkg/apimachinery/index';
import {
  forwardedRequestOf,
  parseUrlEncoded,
  readBody,
  ServiceUrl,
  type RequestContext,
  type TrustedProxies,
} from '#pkg/http/index';
import { newDetail, newFieldErrors, newParseError, type AccessError } from './access-error.ts';
import { readCookies } from './cookies.ts';
import { parseMultipart } from './parse-multipart.ts';

const bodyLimit = 1024 * 1024;
const multipartLimit = 64 * 1024;

/** A request as credentials and operations read it. */
export class AccessRequest {
  readonly context: RequestContext;
  /** Path and query as sent, which a signature covers. */
  readonly target: string;
  /** The client's address, also behind trusted proxies. */
  readonly address: string;
  /** `http://127.0.0.1:8091`, as the client sees this service. */
  readonly origin: string;
  /** Prefix of absolute URLs in its response. */
  readonly baseUrl: string;
  readonly url: ServiceUrl;
  readonly cookies: ReadonlyMap<string, string>;
  #body: Promise<Buffer> | undefined;
  #bodyLimit = bodyLimit;
  #fields: Promise<JsonObject> | undefined;

  constructor(context: RequestContext, proxies: TrustedProxies, url = new ServiceUrl(proxies)) {
    this.context = context;
    this.target = context.request.url ?? '';
    this.address = context.clientAddress;
    this.origin = url.originOf(context.request);
    this.baseUrl = url.baseOf(context.request);
    this.url = url;
    this.cookies = readCookies(context.request.headers.cookie);
  }

  get method(): string {
    return this.context.request.method ?? '';
  }

  /**
   * '' if absent. Of a repeated header, Node's value: the first if only one is permitted, else all joined by commas.
   */
  header(name: string): string {
    const value = this.context.request.headers[name];
    return typeof value === 'string' ? value : (value?.join(', ') ?? '');
  }

  get userAgent(): string {
    return this.header('user-agent').slice(0, 254);
  }

  /** Did the client call the address of the content platform? */
  get isAtPlatform(): boolean {
    return forwardedRequestOf(this.context.request) !== undefined;
  }

  get isSecure(): boolean {
    return this.url.isSecure(this.context.request);
  }

  /** Refuses a larger body from now on, also if it was read before. */
  limitBody(bytes: number): void {
    this.#bodyLimit = Math.min(this.#bodyLimit, bytes);
  }

  /** The raw body, at most 1 MiB, or the limit of `limitBody`; may be called again. Throws 413 for a larger one. */
  async body(): Promise<Buffer> {
    this.#body ??= readBody(this.context, { maxBytes: this.#bodyLimit });
    const bytes = await this.#body;
    if (bytes.length > this.#bodyLimit) throw newTooLarge(this.#bodyLimit);
    return bytes;
  }

  /**
   * The body's fields by name: a JSON object, or a form (urlencoded or multipart), whose values are texts, the last of
   * several with one name. Throws 400 `parse_error` for a body that cannot be parsed, `{non_field_errors}` for JSON
   * that is not an object, 413 for a multipart body over 64 KiB, and 415 for another media type. May be called again;
   * all calls share the result, which must not be modified.
   */
  async fields(): Promise<JsonObject> {
    const bytes = await this.body();
    this.#fields ??= this.#parse(bytes);
    return this.#fields;
  }

  async #parse(bytes: Buffer): Promise<JsonObject> {
    await this.context.bytes.parse(bytes.length);
    const type = this.header('content-type');
    const essence = type.split(';', 1)[0]!.trim().toLowerCase();
    if (bytes.length === 0) return {};
    if (essence === '' || essence === 'application/json' || essence.endsWith('+json')) return jsonFields(bytes);
    if (essence === 'application/x-www-form-urlencoded') return formFields(urlEncodedFields(bytes));
    if (essence === 'multipart/form-data') {
      if (bytes.length > multipartLimit) throw newTooLarge(multipartLimit);
      return formFields(await parseMultipart(bytes, type));
    }
    throw newDetail(
      415,
      'unsupported_media_type',
      'Send application/json, application/x-www-form-urlencoded or multipart/form-data.',
    );
  }
}

function newTooLarge(limit: number): AccessError {
  return newDetail(413, 'too_large', `the body of the request is larger than ${limit} bytes`);
}

function jsonFields(bytes: Buffer): JsonObject {
  let value;
  try {
    ({ value } = decodeJson(bytes));
  } catch (error) {
    if (!isStatusError(error)) throw error;
    if (error.code === 413) throw newDetail(413, 'too_large', error.message);
    // The parser's message repeats a part of the body, which may hold a password.
    throw newParseError('JSON parse error: the body is not valid JSON.');
  }
  if (!isJsonObject(value)) throw newFieldErrors({ non_field_errors: ['Invalid data. Expected an object.'] });
  return value;
}

function urlEncodedFields(bytes: Buffer): URLSearchParams {
  if (!isUtf8(bytes)) throw newParseError('the texts of a form must be UTF-8');
  try {
    return parseUrlEncoded(bytes.toString('utf8'), 'form');
  } catch (error) {
    throw isStatusError(error) ? newParseError(error.message) : error;
  }
}

function formFields(entries: Iterable<[string, unknown]>): JsonObject {
  const fields: JsonObject = Object.create(null) as JsonObject;
  for (const [name, value] of entries) {
    if (typeof value !== 'string') throw newFieldErrors({ [name.slice(0, 100)]: ['Files are not accepted.'] });
    if (/[\0\p{Cs}]/u.test(name + value))
      throw newParseError('the texts of a form hold no U+0000 and no half characters');
    fields[name] = value;
  }
  return { ...fields };
}
