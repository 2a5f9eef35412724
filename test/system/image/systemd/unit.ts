import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../../../../hack/image/dockerfile.ts';

export const unitsFolder = join(repository, 'deploy/systemd');

/** A file of deploy/systemd. */
export class Unit {
  readonly #text: string;

  constructor(name: string) {
    this.#text = readFileSync(join(unitsFolder, name), 'utf8');
  }

  /** All values of a setting, in order. */
  settings(key: string): string[] {
    return [...this.#text.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value!);
  }

  /** The only value of a setting; throws for another number of values. */
  setting(key: string): string {
    const [value, ...others] = this.settings(key);
    if (value === undefined || others.length > 0)
      throw new Error(`${key} occurs ${others.length + 1} times instead of once`);
    return value;
  }

  /** The variables of `Environment=`. */
  get environment(): Record<string, string> {
    return Object.assign({}, ...this.settings('Environment').map(variablesOf)) as Record<string, string>;
  }
}

/** The variables of svc.env with every sample enabled. */
export function sampleOptions(): Record<string, string> {
  const text = readFileSync(join(unitsFolder, 'svc.env'), 'utf8');
  return variablesOf(text.replaceAll(/^# (?=[A-Z_]+=)/gm, '').replaceAll(/^#.*$/gm, ''));
}

/** Parses `A=1 B=2`, or one variable per line. */
export function variablesOf(text: string): Record<string, string> {
  const words = text.split(/\s+/).filter((word) => word.includes('='));
  return Object.fromEntries(words.map((word) => word.split(/=(.*)/s, 2) as [string, string]));
}
