import { isJsonObject, type JsonObject, type JsonValue } from '#pkg/apimachinery/index';
import { storable } from './printable.ts';

const redacted = '[redacted]';
/** Characters. */
const maxUriLength = 2048;
/** Holds the whole object again, as text. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
/** The end of a name, in lower case and without separators and digits. */
const secretEnd =
  /(?:token|password|passwd|secret|secretkey|privatekey|apikey|accesskey|credentials?|authorization|cookie)$/;

export interface RedactOptions {
  /** Leaves out `managedFields` of each object's metadata. Default false. */
  omitManagedFields?: boolean | undefined;
}

/**
 * A copy whose secrets are replaced by the text `[redacted]`: fields with names such as `clientSecret`, `db_password`
 * or `api-key`, at any depth; the data of a Secret; the annotation in which kubectl repeats an object; and `value` next
 * to a `name` or JSON Patch `path` with such a name. Characters that PostgreSQL cannot store become spaces.
 */
export function redact(value: JsonValue, { omitManagedFields = false }: RedactOptions = {}): JsonValue {
  const root: JsonObject = { value };
  // Iterative, so that no depth overflows the stack. Every container here is already a copy.
  const pending: (JsonObject | JsonValue[])[] = [root];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const container = next as JsonObject;
    for (const key of Object.keys(container)) {
      const member = container[key]!;
      if (typeof member === 'string') container[key] = storable(member);
      if (typeof member !== 'object' || member === null) continue;
      const copy = isJsonObject(member) ? redactFields(member, omitManagedFields && key === 'metadata') : [...member];
      container[key] = copy;
      pending.push(copy);
    }
  }
  return root['value']!;
}

/** The URI with `[redacted]` for query parameters with names as in `redact`; at most 2048 characters of it. */
export function redactUri(uri: string): string {
  const [path, ...query] = uri.slice(0, maxUriLength).split('?');
  if (query.length === 0) return path!;
  const parameters = query.join('?').split('&').map(redactParameter);
  return `${path}?${parameters.join('&')}`.slice(0, maxUriLength);
}

function redactParameter(parameter: string): string {
  const end = parameter.indexOf('=') + 1;
  // URLSearchParams decodes the name as servers do, also if an escape is broken.
  const [name = ''] = new URLSearchParams(parameter).keys();
  return end > 0 && isSecretName(name) ? parameter.slice(0, end) + redacted : parameter;
}

/** A shallow copy. */
function redactFields(object: JsonObject, omitManagedFields: boolean): JsonObject {
  const isSecretObject = object['kind'] === 'Secret';
  const isSecretValue = Object.hasOwn(object, 'value') && namesSecret(object);
  // A spread, unlike an assignment to `__proto__`, keeps that field a field.
  const copy = { ...object };
  for (const key of Object.keys(copy)) {
    if (
      isSecretName(key) ||
      (isSecretObject && (key === 'data' || key === 'stringData')) ||
      (isSecretValue && key === 'value')
    )
      copy[key] = redacted;
    if (storable(key) !== key) {
      copy[storable(key)] = copy[key]!;
      delete copy[key];
    }
  }
  if (omitManagedFields) delete copy['managedFields'];
  return copy;
}

/** Whether `value` of the object is a secret by its `name`, as in a list of variables, or its JSON Patch `path`. */
function namesSecret({ name, path }: JsonObject): boolean {
  if (typeof name === 'string' && isSecretName(name)) return true;
  return typeof path === 'string' && path.split('/').some((part) => isSecretName(part.replaceAll('~1', '/')));
}

function isSecretName(name: string): boolean {
  return name === lastApplied || secretEnd.test(name.toLowerCase().replaceAll(/[^a-z]/g, ''));
}
