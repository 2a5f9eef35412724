import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { databaseUrlOf, killPrograms, startServe } from '../../../cmd/svc/start-test-program.ts';
import { createTestDatabase, type TestDatabase } from '../../../pkg/testenv/test-database.ts';
import { readRules } from './alert-rules.ts';
import { dashboards } from '../../../hack/dashboards/dashboards.ts';
import { defaultDataParent } from '../harness/process/postgres-process.ts';
import { namesIn } from './promql.ts';

/** Series and labels that Prometheus adds. */
const ofPrometheus = new Set(['up', 'ALERTS']);
const ofTargets = new Set(['namespace', 'job', 'instance', 'le', 'alertname', 'alertstate']);

const version = '2.22.0+1ebebde0a1b2';
let home: TestDatabase;
let folder: string;
let runbook: string;
/** The final metrics of the platform. */
let page = '';
/** Label names, by registered metric. */
const shown = new Map<string, Set<string>>();

beforeAll(async () => {
  home = await createTestDatabase();
  folder = await mkdtemp(join(defaultDataParent, 'svc-metrics-'));
  await chmod(folder, 0o711);
  runbook = await readFile(new URL('../../../docs/runbook.md', import.meta.url), 'utf8');
  const { url, accessUrl, token, program } = await startServe(folder, [`--svc.database.url=${databaseUrlOf(home)}`], {
    env: { BUILD_VERSION: version },
  });
  expect((await program.line('ready'))['version']).toBe(version);
  await program.line('leading');
  // The second scrape includes metrics of the first one, and of the API.
  for (const target of [
    `${url}/api/v1/namespaces`,
    `${url}/metrics`,
    `${accessUrl}/metrics`,
    `${accessUrl}/metrics`,
    `${url}/metrics`,
  ]) {
    const answer = await fetch(target, { headers: { authorization: `Bearer ${token}` } });
    expect(answer.status).toBe(200);
    page = await answer.text();
    if (target.endsWith('/metrics')) note(page);
  }
});
afterAll(async () => {
  await killPrograms();
  await home.drop();
  await rm(folder, { recursive: true, force: true });
});

function note(text: string): void {
  for (const [, name] of text.matchAll(/^# TYPE (\S+) /gm)) if (!shown.has(name!)) shown.set(name!, new Set());
  for (const [, series, labels] of text.matchAll(/^(\w+)\{(.*)\} /gm))
    for (const [, label] of labels!.matchAll(/(\w+)="/g)) shown.get(registered(series!))!.add(label!);
}

/** The series of a histogram have derived names. */
function registered(series: string): string {
  const base = series.replace(/_(?:bucket|sum|count)$/, '');
  return shown.has(series) ? series : base;
}

/** The rows of the runbook's tables: metrics with their descriptions. */
function documented(): Map<string, string> {
  const rows = [
    ...runbook.matchAll(/^\| (`(?:http|db|svc|controller_runtime|workqueue|leader|process|nodejs)_[^|]*)\|(.*)$/gm),
  ];
  return new Map(
    rows.flatMap(([, names, about]) =>
      [...names!.matchAll(/`([a-z0-9_]+)`/g)].map(([, name]) => [name!, about!] as const),
    ),
  );
}

test('the runbook has every metric, and no other', () => {
  expect([...documented().keys()].toSorted()).toEqual([...shown.keys()].toSorted());
});

test('it shows the build, with its commit', () => {
  expect(page.split('\n')).toContain(`svc_build_info{version="${version}",component="apiserver"} 1`);
});

test.each([
  /^leader_election_master_status\{name="svc-controllers\.namespaces"\} 1$/m,
  /^svc_memory_limit_bytes \d{8,}$/m,
  /^svc_heap_limit_bytes \d{8,}$/m,
  /^svc_change_log_limit_bytes 1073741824$/m,
])('it shows %s', (line) => {
  expect(page).toMatch(line);
});

describe('metrics of alerts and dashboards exist', () => {
  test('metrics and labels', async () => {
    const rules = await readRules();
    const recorded = new Set(rules.flatMap(({ record }) => record ?? []));
    const panels = Object.values(dashboards).flatMap(({ rows }) =>
      rows.flatMap(({ panels: plans }) => plans.flatMap(({ lines }) => Object.values(lines))),
    );
    const rowOf = documented();
    for (const expression of [...rules.map(({ expr }) => expr), ...panels]) {
      const { metrics, labels } = namesIn(expression);
      const own = metrics.filter((name) => !ofPrometheus.has(name) && !recorded.has(name)).map(registered);
      expect({ expression, unknown: own.filter((name) => !shown.has(name)) }).toEqual({ expression, unknown: [] });
      // A metric without any count has its labels only in the runbook.
      const isKnown = (label: string): boolean =>
        ofTargets.has(label) ||
        own.some((name) => shown.get(name)!.has(label) || rowOf.get(name)!.includes(`\`${label}\``));
      expect({
        expression,
        unknown: metrics.some((name) => recorded.has(name)) ? [] : labels.filter((label) => !isKnown(label)),
      }).toEqual({ expression, unknown: [] });
    }
  });
});
