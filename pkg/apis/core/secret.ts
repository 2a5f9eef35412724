import { fieldError, isJsonObject, type JsonObject, type JsonValue, type StatusCause } from '#pkg/apimachinery/index';
import {
  base64Bytes,
  dataIn,
  fillNulls,
  immutabilityCauses,
  keyCauses,
  maxDataBytes,
  normalizeBase64,
} from './keyed-data.ts';

const serviceAccountName = 'kubernetes.io/service-account.name';
const redactedValue = '<secret contents redacted>';

/**
 * Moves `stringData` into `data`, and changes the data in place as Kubernetes does when it reads it. The types may be
 * wrong: what is not understood stays for the schema to refuse. @throws StatusError 400
 */
export function prepareSecret(object: JsonObject): void {
  fillNulls(object, 'data');
  normalizeBase64(object, 'data');
  fillNulls(object, 'stringData');
  const { stringData, data } = object;
  if (stringData === null) delete object['stringData'];
  if (!isJsonObject(stringData) || !isDataLike(data)) return;
  if (Object.values(stringData).some((text) => typeof text !== 'string')) return;
  const added = Object.entries(stringData).map(([key, text]): [string, string] => [
    key,
    Buffer.from(text as string).toString('base64'),
  ]);
  if (added.length > 0) object['data'] = { ...data, ...Object.fromEntries(added) };
  delete object['stringData'];
}

const isDataLike = (data: JsonValue | undefined): data is JsonObject | null | undefined =>
  data === undefined || data === null || isJsonObject(data);

/** Errors beyond the schema; no message has a value. Source: k8s.io/kubernetes/pkg/apis/core/validation ValidateSecret. */
export function validateSecret(object: JsonObject, old: JsonObject | undefined): StatusCause[] {
  const data = dataIn(object, 'data');
  const bytes = Object.values(data).reduce((sum: number, text) => sum + base64Bytes(text), 0);
  return [
    ...(old === undefined || old['type'] === object['type']
      ? []
      : [fieldError.invalid('type', object['type'], 'field is immutable')]),
    ...(old === undefined ? [] : immutabilityCauses(object, old, ['data'])),
    ...keyCauses(data, 'data'),
    ...(bytes > maxDataBytes ? [fieldError.tooLong('data', maxDataBytes)] : []),
    ...typeCauses(object, data),
  ];
}

function typeCauses({ type, metadata }: JsonObject, data: JsonObject): StatusCause[] {
  switch (type) {
    case 'kubernetes.io/service-account-token': {
      const annotations = isJsonObject(metadata) ? dataIn(metadata, 'annotations') : {};
      return (annotations[serviceAccountName] ?? '') === ''
        ? [fieldError.required(`metadata.annotations[${serviceAccountName}]`)]
        : [];
    }
    case 'kubernetes.io/dockercfg':
      return jsonCauses(data, '.dockercfg');
    case 'kubernetes.io/dockerconfigjson':
      return jsonCauses(data, '.dockerconfigjson');
    case 'kubernetes.io/basic-auth':
      return Object.hasOwn(data, 'username') || Object.hasOwn(data, 'password')
        ? []
        : ['username', 'password'].map(requiredKey);
    case 'kubernetes.io/ssh-auth':
      return base64Bytes(data['ssh-privatekey']) === 0 ? [requiredKey('ssh-privatekey')] : [];
    case 'kubernetes.io/tls':
      return ['tls.crt', 'tls.key'].filter((key) => !Object.hasOwn(data, key)).map(requiredKey);
    default:
      return [];
  }
}

const requiredKey = (key: string): StatusCause => fieldError.required(`data[${key}]`);

function jsonCauses(data: JsonObject, key: string): StatusCause[] {
  if (!Object.hasOwn(data, key)) return [requiredKey(key)];
  const text = Buffer.from(data[key] as string, 'base64').toString();
  return isJsonText(text) ? [] : [fieldError.invalid(`data[${key}]`, redactedValue, 'must be a JSON object')];
}

/** Node's own error would repeat a part of the text. */
function isJsonText(text: string): boolean {
  try {
    const value = JSON.parse(text) as JsonValue;
    return value === null || isJsonObject(value);
  } catch {
    return false;
  }
}
