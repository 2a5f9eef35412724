import { OperatorError } from './operator-error.ts';
import { environmentName, optionNames, optionTable, type OptionName, type Options } from './option-table.ts';
import type { Option } from './option.ts';
import { readConfigFolder } from './read-config-folder.ts';
import { readFlags } from './read-flags.ts';
import { readSecretFiles } from './read-secret-files.ts';
import { newUnknownOption, type Setting } from './setting.ts';

export interface OptionSources {
  /** Folder given by `--config`; './config' otherwise, which need not exist. */
  readonly configFolder?: string | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly args: readonly string[];
}

export interface LoadedOptions {
  readonly options: Options;
  /** The configuration files that were read. */
  readonly configFiles: readonly ConfigFile[];
}

export interface ConfigFile {
  readonly path: string;
  /** Whether it sets a secret option. */
  readonly holdsSecret: boolean;
}

/**
 * Loads the startup options from files, environment and flags; the later source wins. An empty value means the default.
 * Secrets that options leave to files are read here.
 * @throws OperatorError for an unknown or malformed option in any source, also for one that a later source overrides;
 *   for the file of a secret that cannot be read
 */
export function loadOptions({ configFolder, environment, args }: OptionSources): LoadedOptions {
  const config = readConfigFolder(configFolder ?? './config', { mustExist: configFolder !== undefined });
  const settings = [...config.settings, ...readEnvironment(environment), ...readFlags(args)];
  const values = new Map<OptionName, unknown>(optionNames.map((name) => [name, defaultOf(name)]));
  for (const setting of settings)
    values.set(setting.name, setting.text === '' ? defaultOf(setting.name) : parse(setting));
  readSecretFiles(values);
  const holdsSecret = (path: string): boolean =>
    config.settings.some(({ file, name, text }) => file === path && text !== '' && isSecret(name));
  return {
    options: Object.fromEntries(values) as Options,
    configFiles: config.files.map((path) => ({ path, holdsSecret: holdsSecret(path) })),
  };
}

function defaultOf(name: OptionName): unknown {
  const option: Option<unknown> = optionTable[name];
  return option.default === '' && option.type.label !== 'list' ? undefined : option.type.parse(option.default);
}

function isSecret(name: OptionName): boolean {
  const option: Option<unknown> = optionTable[name];
  return option.isSecret === true;
}

function parse({ name, text, spelling }: Setting): unknown {
  const { type }: Option<unknown> = optionTable[name];
  const value = type.parse(text);
  if (value !== undefined) return value;
  const what = isSecret(name) ? 'its value' : JSON.stringify(text.slice(0, 100));
  throw new OperatorError(`The option ${spelling} is malformed: ${what} is not ${type.expected}.`);
}

const namesByVariable = new Map(optionNames.map((name) => [environmentName(name), name]));

/**
 * The options in environment variables. Throws OperatorError for an unknown SVC_ variable; SVC_TEST_ variables belong
 * to the tests.
 */
function readEnvironment(environment: Readonly<Record<string, string | undefined>>): Setting[] {
  return Object.entries(environment).flatMap(([variable, text]) => {
    if (text === undefined || !variable.startsWith('SVC_') || variable.startsWith('SVC_TEST_')) return [];
    const name = namesByVariable.get(variable);
    if (name === undefined)
      throw newUnknownOption(`option for the environment variable ${variable}`, variable, [...namesByVariable.keys()]);
    return [{ name, text, spelling: variable }];
  });
}
