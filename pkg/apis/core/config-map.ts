import { fieldError, type JsonObject, type StatusCause } from '#pkg/apimachinery/index';
import {
  base64Bytes,
  dataIn,
  fillNulls,
  immutabilityCauses,
  keyCauses,
  maxDataBytes,
  normalizeBase64,
} from './keyed-data.ts';

/** Changes the data in place as Kubernetes does when it reads it; its types may be wrong. @throws StatusError 400 */
export function prepareConfigMap(object: JsonObject): void {
  fillNulls(object, 'data');
  fillNulls(object, 'binaryData');
  normalizeBase64(object, 'binaryData');
}

/** Errors beyond the schema. Source: k8s.io/kubernetes/pkg/apis/core/validation ValidateConfigMap. */
export function validateConfigMap(object: JsonObject, old: JsonObject | undefined): StatusCause[] {
  const data = dataIn(object, 'data');
  const binary = dataIn(object, 'binaryData');
  const isTwice = (key: string): boolean => Object.hasOwn(data, key) && Object.hasOwn(binary, key);
  const twice = Object.keys(data).filter(isTwice).slice(0, 100);
  const bytes =
    Object.values(data).reduce((sum: number, text) => sum + Buffer.byteLength(text as string), 0) +
    Object.values(binary).reduce((sum: number, text) => sum + base64Bytes(text), 0);
  return [
    ...(old === undefined ? [] : immutabilityCauses(object, old, ['data', 'binaryData'])),
    ...keyCauses(data, 'data'),
    ...keyCauses(binary, 'binaryData'),
    ...twice.map((key) => fieldError.invalid(`data[${key}]`, key, 'duplicate of key present in binaryData')),
    ...twice.map((key) => fieldError.invalid(`binaryData[${key}]`, key, 'duplicate of key present in data')),
    // Kubernetes names no field here, and shows that as `[]`.
    ...(bytes > maxDataBytes ? [fieldError.tooLong('[]', maxDataBytes)] : []),
  ];
}
