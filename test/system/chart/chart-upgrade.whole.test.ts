import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { chartFolder, describeWithHelm, renderChart, type Values } from './render-chart.ts';
import { ofKind, podsOf, titleOf, type Pods } from './rules/release.ts';
import type { KubernetesDocument } from './validate-document.ts';
import { databaseUrl } from './values-sets.ts';

const database = { url: databaseUrl };

async function release(values: Values): Promise<{ documents: KubernetesDocument[]; existing: Set<string> }> {
  return { documents: await renderChart({ database, ...values }), existing: new Set() };
}

function templatesOf(pods: readonly Pods[]): string[] {
  return pods
    .filter(({ document }) => document.kind === 'Deployment')
    .map(({ document }) => JSON.stringify((document['spec'] as { template: unknown }).template));
}

describeWithHelm('an upgrade of the chart', () => {
  test('keeps the immutable fields of Kubernetes', async () => {
    const [before, after] = await Promise.all([
      release({}),
      release({
        image: { tag: '9.9.9' },
        commonLabels: { team: 'platform' },
        apiserver: { replicas: 5, podLabels: { a: 'b' } },
        config: { 'svc.log.level': 'debug' },
        listenAddress: '::',
      }),
    ]);
    const selectors = ({ documents }: typeof before): unknown[] =>
      ofKind({ documents, existing: new Set() }, 'Deployment').map(({ metadata, spec }) => [
        metadata.name,
        (spec as { selector: unknown }).selector,
      ]);
    expect(selectors(after)).toEqual(selectors(before));
    expect(JSON.stringify(selectors(before))).not.toMatch(/version|chart/);
  });

  test('replaces pods if what they read at their start differs, and no others', async () => {
    const auth = { existingSecret: { name: 'own' } };
    const [same, again, config, url] = await Promise.all([
      release({ auth }),
      release({ auth }),
      release({ auth, config: { 'svc.log.level': 'debug' } }),
      release({ auth, database: { url: `${databaseUrl}2` } }),
    ]);
    expect(templatesOf(podsOf(again))).toEqual(templatesOf(podsOf(same)));
    const changed = (other: typeof same): string[] =>
      podsOf(same).flatMap(({ owner, document }, index) =>
        document.kind === 'Deployment' && templatesOf(podsOf(same))[index] !== templatesOf(podsOf(other))[index]
          ? [owner]
          : [],
      );
    expect(changed(config)).toEqual([
      'Deployment svc-apiserver',
      'Deployment svc-access-server',
      'Deployment svc-controller-manager',
    ]);
    expect(changed(url)).toEqual(['Deployment svc-apiserver', 'Deployment svc-access-server']);
  });

  test('is checked by the network rules of the new release, whatever an older release has', async () => {
    const documents = await renderChart({ database, networkPolicy: { enabled: true } });
    const annotationsOf = (title: string): unknown =>
      documents.find((document) => titleOf(document) === title)!.metadata.annotations;
    expect(annotationsOf('NetworkPolicy svc-upgrade-check')).toEqual(annotationsOf('ConfigMap svc-migration-check'));
    expect(documents.map(titleOf)).not.toContain('NetworkPolicy svc-migration-check');
  });

  test('keeps what would be lost: credentials and a database', async () => {
    const documents = await renderChart({ database: { cnpg: { enabled: true } } });
    const kept = documents
      .filter(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'] === 'keep')
      .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    expect(kept.toSorted()).toEqual(['Cluster svc-db', 'Secret svc-auth', 'Secret svc-service-tokens']);
  });

  test('has the version of the program', () => {
    const { version, appVersion } = parse(readFileSync(join(chartFolder, 'Chart.yaml'), 'utf8')) as {
      version: string;
      appVersion: string;
    };
    const program = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as {
      version: string;
    };
    expect([version, appVersion]).toEqual([program.version, program.version]);
  });
});
