import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { repository } from '../../../../hack/image/dockerfile.ts';

export const deployFolder = join(repository, 'deploy');

export interface Service {
  readonly image: string;
  readonly restart: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly deploy?: { readonly replicas: number };
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly secrets?: readonly (string | { readonly source: string; readonly target: string })[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly ports?: readonly string[];
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
  readonly security_opt?: readonly string[];
  readonly tmpfs?: readonly string[];
  readonly stop_grace_period?: string;
  readonly logging?: { readonly driver: string };
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly configs: Readonly<Record<string, { readonly file: string }>>;
}

/** Parses deploy/compose.yaml like an engine: merged, and with variables (`${NAME:-default}`) replaced. */
export async function readComposeFile(variables: Readonly<Record<string, string>> = {}): Promise<ComposeFile> {
  const text = await readFile(join(deployFolder, 'compose.yaml'), 'utf8');
  const filled = text.replaceAll(
    /\$\{([A-Z]+):-([^}]*)\}/g,
    (_whole, name: string, fallback: string) => variables[name] ?? fallback,
  );
  return parse(filled, { merge: true }) as ComposeFile;
}

/** The services of our image. */
export function programsOf({ services }: ComposeFile): [string, Service][] {
  return Object.entries(services).filter(([, { image }]) => image === 'svc:latest');
}
