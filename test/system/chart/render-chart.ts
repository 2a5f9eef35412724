import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { hasHelm, helm } from '../../../hack/helm/helm.mjs';
import type { KubernetesDocument } from './validate-document.ts';

export type Values = Readonly<Record<string, unknown>>;

export const chartFolder = fileURLToPath(new URL('../../../deploy/helm/svc', import.meta.url));

export interface RenderOptions {
  release?: string;
  kubeVersion?: string;
}

/** The objects in the chart's output for these values. Rejects with helm's message if it refuses them. */
export async function renderChart(
  values: Values,
  { release = 'svc', kubeVersion = '1.35.0' }: RenderOptions = {},
): Promise<KubernetesDocument[]> {
  const text = await withValues(values, (file) =>
    helm(['template', release, chartFolder, '--namespace', 'prod', '--kube-version', kubeVersion, '--values', file]),
  );
  return parseAllDocuments(text, { uniqueKeys: true }).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0]!;
    const object = document.toJS() as KubernetesDocument | null;
    return object === null ? [] : [object];
  });
}

/** Rejects with the findings of helm's linter; warnings count. */
export async function lintChart(values: Values): Promise<void> {
  await withValues(values, (file) => helm(['lint', '--strict', '--quiet', chartFolder, '--values', file]));
}

async function withValues<T>(values: Values, use: (file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-chart-'));
  try {
    const file = join(folder, 'values.yaml');
    writeFileSync(file, JSON.stringify(values));
    return await use(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** `describe` if helm is installed; otherwise skips with a message, but not in CI. */
export function describeWithHelm(name: string, tests: () => void): void {
  if (hasHelm()) {
    describe(name, tests);
    return;
  }
  if (process.env['CI'] === 'true')
    throw new Error('helm is not installed: run node hack/helm/fetch.mjs before the tests');
  process.stderr.write(`WARNING: helm is not installed (node hack/helm/fetch.mjs), so ${name} is skipped.\n`);
  describe.skip(name, tests);
}
