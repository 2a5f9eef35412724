import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

const fileOf = (name: string): string =>
  fileURLToPath(new URL(`../../../../deploy/helm/svc/files/${name}`, import.meta.url));

export const alertsFile = fileOf('alerts.yaml');
/** Those of a database that CloudNativePG runs, by its metrics. */
export const clusterAlertsFile = fileOf('alerts-cnpg.yaml');

/** The rules of all groups, in order. */
export async function readRules(file = alertsFile): Promise<Rule[]> {
  const { groups } = parse(await readFile(file, 'utf8')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}
