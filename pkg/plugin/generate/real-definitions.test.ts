import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import type { Model } from '#pkg/apimachinery/index';
import { builtinModels, defaultDefinition, modelFromDefinition, type CustomResourceDefinition } from '#pkg/apis/index';
import { generateTypes } from './generate-types.ts';

const root = join(import.meta.dirname, '../../..');
const data = join(root, '../shared/data');
const folders = [join(data, 'gateway-api/crds'), join(data, 'cert-manager/crds'), join(root, 'config/samples')];
const models = [...builtinModels, ...folders.flatMap(modelsIn)];

function modelsIn(folder: string): Model[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
  const objects = files.flatMap((name) =>
    parseAllDocuments(readFileSync(join(folder, name), 'utf8')).map(
      (document) => document.toJS() as CustomResourceDefinition,
    ),
  );
  return objects
    .filter(({ kind }) => kind === 'CustomResourceDefinition')
    .map((definition) => modelFromDefinition(defaultDefinition(definition)));
}

/** Uses the generated types: the compiler must know exactly their fields. */
const use = `
import type { Client } from '@svc/sdk';
import { Certificate, CertificateClient } from './cert-manager.io/v1.ts';
import { HTTPRoute } from './gateway.networking.k8s.io/v1.ts';
import { Lease } from './coordination.k8s.io/v1.ts';

export async function use(client: Client): Promise<unknown[]> {
  const certificates = new CertificateClient(client);
  const certificate = await certificates.get({ namespace: 'default', name: 'a' });
  const names: string[] | undefined = certificate.spec?.dnsNames;
  const algorithm: 'RSA' | 'ECDSA' | 'Ed25519' | undefined = certificate.spec?.privateKey?.algorithm;
  const route = await client.get(HTTPRoute, { namespace: 'default', name: 'a' });
  const weight: number | undefined = route.spec.rules?.[0]?.backendRefs?.[0]?.weight;
  const holder: string | null | undefined = (await client.get(Lease, { namespace: 'default', name: 'a' })).spec?.holderIdentity;
  // @ts-expect-error -- no such field
  const unknown: unknown = certificate.spec?.dnsName;
  // @ts-expect-error -- a required field is missing
  const incomplete: Certificate = { apiVersion: 'cert-manager.io/v1', kind: 'Certificate', metadata: { name: 'a' }, spec: {} };
  const metadata = { name: 'a', namespace: 'default' };
  const type = { apiVersion: 'cert-manager.io/v1', kind: 'Certificate' } as const;
  await client.apply(Certificate, { ...type, metadata, spec: { dnsNames: ['a'], privateKey: { size: 2048 } } });
  await certificates.applyStatus({ ...type, metadata, status: { revision: 1 } }, { force: true });
  // @ts-expect-error -- a field of another type
  await client.apply(Certificate, { ...type, metadata, spec: { dnsNames: 'a' } });
  // @ts-expect-error -- the server sets it
  await client.apply(Certificate, { ...type, metadata: { ...metadata, generation: 1 } });
  // @ts-expect-error -- leases have no status of their own
  const status: unknown = client.get(Lease, { namespace: 'default', name: 'a' }).updateStatus;
  return [names, algorithm, weight, holder, unknown, incomplete, status];
}
`;

test('types of real definitions compile under strict rules, and match them', async () => {
  expect(models.length).toBeGreaterThanOrEqual(20);
  const folder = await mkdtemp(join(tmpdir(), 'svc-types-'));
  try {
    for (const [path, text] of [...generateTypes(models), ['use.ts', use] as const]) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    const compilerOptions = {
      noEmit: true,
      typeRoots: [join(root, 'node_modules/@types')],
      paths: { '@svc/sdk': [join(root, 'pkg/index.ts')] },
      skipLibCheck: true,
    };
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, include: [folder] }),
    );
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
    const compile = promisify(execFile)(
      process.execPath,
      [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder],
      { timeout: 60_000 },
    );
    expect(
      await compile.then(
        ({ stdout }) => stdout,
        (error: { stdout: string }) => error.stdout,
      ),
    ).toBe('');
    expect(await readFile(join(folder, 'cert-manager.io/v1.ts'), 'utf8')).toContain(
      '  /** Requested DNS subject alternative names. */\n  dnsNames?: string[];\n',
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
