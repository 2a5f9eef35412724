import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import { stringify } from 'yaml';
import { alertsFile, readRules } from './alert-rules.ts';
import { dashboards } from '../../../hack/dashboards/dashboards.ts';
import { grafanaDashboard } from '../../../hack/dashboards/grafana-dashboard.ts';
import { mayPromtoolBeMissing, promtool } from './promtool.ts';

const read = (path: string): Promise<string> => readFile(new URL(path, import.meta.url), 'utf8');
const withPromtool = mayPromtoolBeMissing ? test.skip : test;
const alerts = (await readRules()).filter(({ alert }) => alert !== undefined);
const trials = await read('alerts.test.yaml');

describe('alerts', () => {
  withPromtool('are rules that Prometheus takes, fire when they should, and not when they should not', async () => {
    await Promise.all([
      promtool('check', 'rules', alertsFile),
      promtool(
        'test',
        'rules',
        ...['alerts.test.yaml', 'alerts-of-days.test.yaml'].map((name) =>
          fileURLToPath(new URL(name, import.meta.url)),
        ),
      ),
    ]);
  });

  test.each(
    alerts.map((rule) => ({
      name: `${rule.alert} ${rule.labels?.['severity']} ${rule.labels?.['cause'] ?? ''}`.trim(),
      rule,
    })),
  )('$name says what is wrong, how much, and where to read on, and is tried', ({ rule }) => {
    const { alert, labels = {}, annotations = {} } = rule;
    expect(labels['severity']).toMatch(/^(critical|warning)$/);
    expect(Object.keys(annotations)).toEqual(['summary', 'description', 'runbook_url']);
    expect(annotations['runbook_url']).toBe(`docs/runbook.md#${alert!.toLowerCase()}`);
    // An urgent alert shows a value, unless the missing value is the problem.
    if (!/absent|up == 0|^svc_change_log_compacted/.test(rule.expr))
      expect(annotations['description']).toContain('$value');
    const trial = new RegExp(`alertname="${alert}"[^]*?exp_samples:[^]*?(?=\\n {2}- name:|$)`);
    const tried = trials.match(new RegExp(trial, 'g'))!.join('');
    if (labels['cause'] !== undefined) expect(tried).toContain(`cause="${labels['cause']}"`);
  });

  test('each has its section in the runbook, and each section its alert', async () => {
    const sections = [...(await read('../../../docs/runbook.md')).matchAll(/^### (Svc\w+)$/gm)].map(
      ([, name]) => name!,
    );
    expect(sections).toEqual([...new Set(alerts.map(({ alert }) => alert!))]);
  });
});

interface Panel {
  id: number;
  title: string;
  type: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; refId: string }[];
  fieldConfig?: { defaults: { unit: string } };
}

describe('dashboards', () => {
  const built = Object.entries(dashboards).map(([file, plan]) => ({
    file,
    dashboard: grafanaDashboard(plan) as { uid: string; title: string; panels: Panel[] },
  }));

  test.each(built)('$file in the chart is what dashboards.ts makes of it', async ({ file, dashboard }) => {
    // Update with: node --import tsx hack/dashboards/write-dashboards.ts
    expect(JSON.parse(await read(`../../../deploy/helm/svc/files/dashboards/${file}`))).toEqual(dashboard);
  });

  test('have names and panels of their own, which do not cover each other', () => {
    expect(new Set(built.map(({ dashboard }) => dashboard.uid)).size).toBe(built.length);
    for (const { dashboard } of built) {
      const { panels } = dashboard;
      expect(panels.map(({ id }) => id)).toEqual(panels.map((_panel, i) => i + 1));
      const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
        Array.from({ length: w * h }, (_cell, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`),
      );
      expect(new Set(cells).size).toBe(cells.length);
      expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24);
      for (const { title, targets = [], fieldConfig } of panels.filter(({ type }) => type !== 'row')) {
        expect({ title, targets: targets.length > 0, unit: fieldConfig?.defaults.unit }).toEqual({
          title,
          targets: true,
          unit: expect.stringMatching(/^(short|s|bytes|Bps|reqps|ops|percentunit)$/),
        });
      }
    }
  });

  withPromtool('ask for what Prometheus understands', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-dashboards-'));
    try {
      const expressions = built.flatMap(({ dashboard }) =>
        dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      );
      const rules = expressions.map((expr, i) => ({
        record: `panel:${i}`,
        expr: expr.replaceAll('$__rate_interval', '5m'),
      }));
      const file = join(folder, 'rules.yaml');
      await writeFile(file, stringify({ groups: [{ name: 'panels', rules }] }));
      expect(await promtool('check', 'rules', file)).toContain(`SUCCESS: ${rules.length} rules found`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
