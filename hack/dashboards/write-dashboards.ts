/**
 * `node --import tsx hack/dashboards/write-dashboards.ts` writes the dashboards of dashboards.ts into the chart; a
 * test asserts that they are current.
 */
import { writeFile } from 'node:fs/promises';
import { dashboards } from './dashboards.ts';
import { grafanaDashboard } from './grafana-dashboard.ts';

const folder = new URL('../../deploy/helm/svc/files/dashboards/', import.meta.url);
for (const [name, plan] of Object.entries(dashboards))
  await writeFile(new URL(name, folder), `${JSON.stringify(grafanaDashboard(plan), null, 1)}\n`);
