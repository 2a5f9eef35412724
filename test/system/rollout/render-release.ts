import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { newPersonalToken } from '#pkg/identity/index';
import { helm } from '../../../hack/helm/helm.mjs';
import type { Release } from './deployment.ts';
import { Manifests } from './manifests.ts';

const chart = 'deploy/helm/svc';
const ours = fileURLToPath(new URL('../../..', import.meta.url));
const secretName = 'rollout-credentials';

/**
 * Secrets that an operator keeps over all releases: the administrator's token and password, and the keys of stored
 * secrets.
 */
export interface Credentials {
  adminToken: string;
  adminPassword: string;
  key: string;
}

export function newCredentials(): Credentials {
  return {
    adminToken: newPersonalToken(),
    adminPassword: randomBytes(18).toString('base64url'),
    key: randomBytes(32).toString('hex'),
  };
}

export interface RenderOptions {
  /** Replicas of each component; default 2. */
  replicas?: number;
  build: string;
  databaseUrl: string;
  credentials: Credentials;
}

/** The chart of a build (ours for a commit without a chart), rendered by helm for a cluster without TLS. */
export async function renderRelease({
  build,
  databaseUrl,
  credentials,
  replicas = 2,
}: RenderOptions): Promise<Release> {
  const folder = [build, ours].map((root) => join(root, chart)).find((path) => existsSync(path));
  if (folder === undefined) throw new Error(`there is no ${chart}`);
  const values = {
    'database.url': databaseUrl,
    'auth.existingSecret.name': secretName,
    'apiserver.replicas': replicas,
    'accessServer.replicas': replicas,
    'controllerManager.replicas': replicas,
    'drain.delaySeconds': 3,
    'drain.timeoutSeconds': 20,
  };
  const text = await helm([
    'template',
    'svc',
    folder,
    '--namespace',
    'svc',
    '--kube-version',
    '1.35.0',
    ...Object.entries(values).flatMap(([name, value]) => ['--set', `${name}=${String(value)}`]),
  ]);
  const { adminToken, adminPassword, key } = credentials;
  const secret = {
    kind: 'Secret',
    metadata: { name: secretName },
    stringData: { 'admin-token': adminToken, 'admin-password': adminPassword, key },
  };
  return { build, manifests: new Manifests(`${text}\n---\n${JSON.stringify(secret)}\n`) };
}
