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

export const alertsFile = fileURLToPath(new URL('../../../deploy/helm/svc/files/alerts.yaml', import.meta.url));

/** The rules of all groups, in order. */
export async function readRules(): Promise<Rule[]> {
  const { groups } = parse(await readFile(alertsFile, 'utf8')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}
