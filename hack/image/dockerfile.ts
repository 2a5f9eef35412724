import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { BuildInfo } from '../builds/build-info.mjs';

export const repository = fileURLToPath(new URL('../..', import.meta.url));
export const dockerfile = fileURLToPath(new URL('../../deploy/Dockerfile', import.meta.url));

/** The version of the build for the image; the same for the same commit. */
export function buildArguments({ version, commit }: BuildInfo): string[] {
  return ['--build-arg', `BUILD_VERSION=${version}`, '--build-arg', `BUILD_COMMIT=${commit}`];
}

export interface Instruction {
  /** In upper case. */
  readonly name: string;
  /** Continued lines are joined. */
  readonly text: string;
}

/** The instructions, without comments. */
export async function readDockerfile(): Promise<Instruction[]> {
  const text = (await readFile(dockerfile, 'utf8')).replaceAll(/^#.*\n/gm, '').replaceAll(/\\\n\s*/g, '');
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name, rest] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
      if (name === undefined || rest === undefined) throw new Error(`not an instruction: ${line}`);
      return { name, text: rest };
    });
}

/** The base images, as the ARGs name them. */
export async function baseImages(): Promise<{ node: string; base: string }> {
  const args = new Map(
    (await readDockerfile())
      .filter(({ name }) => name === 'ARG')
      .map(({ text }) => text.split('=', 2) as [string, string]),
  );
  const node = args.get('NODE_IMAGE');
  const base = args.get('BASE_IMAGE');
  if (node === undefined || base === undefined) throw new Error('deploy/Dockerfile has no NODE_IMAGE or no BASE_IMAGE');
  return { node, base };
}
