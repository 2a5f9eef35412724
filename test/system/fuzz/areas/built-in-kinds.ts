import type { JsonObject } from '#pkg/apimachinery/index';
import { configMapModel, leaseModel, roleModel, secretModel } from '#pkg/apis/index';
import { protobufFieldsOf } from '../../../../pkg/apiserver/protobuf/kind-fields.ts';
import { encodeProtobuf } from '../../../../pkg/apiserver/protobuf/protobuftest/encode-protobuf.ts';
import type { SeededRandom } from '../../harness/seeded-random.ts';
import { json, type WireRequest } from '../../harness/wire/wire-request.ts';
import { caseName, type AttackArea } from '../fuzz-case.ts';
import { jsonText } from './hostile-json.ts';

const core = '/api/v1/namespaces/default';
const kinds = [
  { model: configMapModel, path: `${core}/configmaps` },
  { model: secretModel, path: `${core}/secrets` },
  { model: leaseModel, path: '/apis/coordination.k8s.io/v1/namespaces/default/leases' },
  { model: roleModel, path: '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles' },
];
type Kind = (typeof kinds)[number];

function objectOf({ model: { group, names } }: Kind, name: string): JsonObject {
  return {
    apiVersion: group === '' ? 'v1' : `${group}/v1`,
    kind: names.kind,
    metadata: { name, labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['example.com/e'] },
    data: { f: 'Zw==' },
    spec: { holderIdentity: 'h', leaseTransitions: 1, renewTime: '2026-01-01T00:00:00.000001Z' },
    rules: [],
  };
}

/** An object in protobuf, with a few bytes changed, or cut off. */
function protobufBody(random: SeededRandom, kind: Kind, name: string): Buffer {
  const bytes = encodeProtobuf(objectOf(kind, name), protobufFieldsOf(kind.model, { name: 'v1' })!);
  for (let i = random.pick([0, 0, 1, 2, 8]); i > 0; i -= 1)
    bytes[random.below(bytes.length)] = random.pick([0, 1, 0x0a, 0x7f, 0x80, 0xff, random.below(256)]);
  return random.chance(0.2) ? bytes.subarray(0, random.below(bytes.length)) : bytes;
}

function jsonObject(random: SeededRandom, kind: Kind, name: string): string {
  const members = ['data', 'binaryData', 'stringData', 'immutable', 'type', 'spec', 'rules']
    .filter(() => random.chance(0.4))
    .map((member) => `"${member}":${random.chance(0.5) ? `{"a":${jsonText(random, 1)}}` : jsonText(random, 2)}`);
  const { apiVersion, kind: named } = objectOf(kind, name);
  const head = `"apiVersion":${JSON.stringify(apiVersion)},"kind":${JSON.stringify(named)},"metadata":{"name":"${name}"}`;
  return `{${[head, ...members].join(',')}}`;
}

function strategicPatch(random: SeededRandom): string {
  const directive = (): string =>
    random.pick([
      '"$patch":"delete"',
      '"$patch":"replace"',
      `"$patch":${jsonText(random, 1)}`,
      `"$retainKeys":${jsonText(random, 2)}`,
      `"$setElementOrder/finalizers":${jsonText(random, 2)}`,
      '"$setElementOrder/ownerReferences":[{"uid":"1"},{"uid":"2"}]',
      `"$deleteFromPrimitiveList/finalizers":${jsonText(random, 2)}`,
      '"finalizers":["example.com/g"]',
      `"ownerReferences":[{"uid":"1","$patch":"delete"},${jsonText(random, 2)}]`,
      `"labels":${jsonText(random, 2)}`,
    ]);
  const metadata = `"metadata":{${random.some(3, directive).join(',')}}`;
  return `{${[metadata, ...random.some(2, directive), `"data":${jsonText(random, 3)}`].join(',')}}`;
}

function typed(request: WireRequest, type: string): WireRequest {
  return { ...request, headers: [['Content-Type', type]] };
}

/** ConfigMaps, Secrets, Leases and Roles: as JSON, as protobuf, and by strategic merge patches. */
export const builtInKinds: AttackArea = {
  name: 'built-in kinds',
  weight: 10,
  generate(random) {
    const name = caseName(random);
    const kind = random.pick(kinds);
    const protobuf = 'application/vnd.kubernetes.protobuf';
    const one = `${kind.path}/${name}`;
    const create = json('POST', kind.path, JSON.stringify({ ...objectOf(kind, name), spec: {} }));
    const patch = (): WireRequest =>
      typed(json('PATCH', one, strategicPatch(random)), 'application/strategic-merge-patch+json');
    const requests = random.one<WireRequest[]>(
      () => [json('POST', kind.path, jsonObject(random, kind, name))],
      () => [create, json('PUT', one, jsonObject(random, kind, name))],
      () => [create, patch(), patch()],
      () => [typed(json('POST', kind.path, protobufBody(random, kind, name)), protobuf)],
      () => [create, typed(json('PUT', one, protobufBody(random, kind, name)), protobuf)],
      () => [create, typed(json('DELETE', one, protobufBody(random, kind, name)), protobuf)],
    );
    return { changes: 'maybe', requests };
  },
};
