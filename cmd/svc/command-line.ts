import { Command } from 'commander';
import { nearestName } from '#pkg/apimachinery/index';
import { newPersonalToken } from '#pkg/identity/index';
import { accessServer } from './access-server.ts';
import { checkDatabaseUrl } from './check-options.ts';
import type { ServerOptions } from './connect-to-server.ts';
import { controllerManager } from './controller-manager.ts';
import { checkMigrate, migrate } from './migrate.ts';
import { addOperatorCommands, operatorCommandNames } from './operator-commands.ts';
import { OperatorError } from './operator-error.ts';
import { formatOptionTable } from './options/format-option-table.ts';
import { loadOptions, type LoadedOptions } from './options/load-options.ts';
import { serve } from './serve.ts';
import type { Environment } from './start-plugins.ts';
import { svcVersion } from './svc-version.ts';

interface Verb {
  readonly name: string;
  readonly summary: string;
  /** Options beside svc.* ones: how each is given, and what it does. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly run: (loaded: LoadedOptions, environment: Environment, given: Given) => Promise<number>;
}

interface Given {
  readonly config?: string;
  readonly check?: true;
}

const verbs: readonly Verb[] = [
  { name: 'serve', summary: 'the content platform and the access management service, on an embedded PostgreSQL unless svc.database.url is set (default)', run: (loaded, environment) => serve(loaded, { controllers: true, accessServer: true, local: true, environment }) },
  {
    name: 'apiserver',
    summary: 'the API alone, without controllers and plugins, on the PostgreSQL of svc.database.url',
    run: async (loaded, environment) => {
      checkDatabaseUrl(loaded.options, 'apiserver');
      return serve(loaded, { controllers: false, accessServer: false, local: false, environment });
    },
  },
  {
    name: 'access-server',
    summary: 'the access management service alone, on the PostgreSQL of svc.database.url, for the content platform at svc.access.api-url',
    run: (loaded) => {
      checkDatabaseUrl(loaded.options, 'access-server');
      return accessServer(loaded);
    },
  },
  { name: 'controller-manager', summary: 'the controllers and plugins alone, for the server at svc.controllers.api-url', run: controllerManager },
  {
    name: 'migrate',
    summary: 'bring the database up to date, and end',
    flags: { '--check': 'change nothing: say what would be run, and end with 1 where this version cannot take the database over' },
    run: (loaded, _environment, { check }) => (check === true ? checkMigrate(loaded) : migrate(loaded)),
  },
];

/** Runs one command line (without node and script); resolves to the exit code. Throws OperatorError. */
export async function runCommandLine(args: readonly string[], environment: Environment): Promise<number> {
  let exitCode = 0;
  const program = new Command('svc').description('The Kubernetes way of working without Kubernetes.').addHelpText('afterAll', `\n${formatOptionTable()}`);
  program.helpCommand(false).configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'svc: ')) });
  for (const { name, summary, flags = {}, run } of verbs) {
    const command = program.command(name, { isDefault: name === 'serve' });
    for (const [flag, effect] of Object.entries(flags)) command.option(flag, effect);
    command
      .summary(summary)
      .description(summary)
      .option('--config <folder>', 'folder of YAML files (default: ./config, where there is one)')
      // svc.* options are ours to read: commander would repeat a misspelled one with its value.
      .allowUnknownOption()
      .allowExcessArguments()
      .action(async (given: Given, { args: rest }: Command) => {
        checkFirstWord(rest);
        exitCode = await run(loadOptions({ configFolder: given.config, environment, args: rest }), environment, given);
      });
  }
  program.command('version').summary('print the version').action(() => void process.stdout.write(`${svcVersion()}\n`));
  program
    .command('new-token')
    .summary('print a new personal token, for svc.security.initial-admin-token')
    .action(() => void process.stdout.write(`${newPersonalToken()}\n`));
  const setExitCode = (code: number): void => {
    exitCode = code;
  };
  addGenerate(program, setExitCode);
  addPlugin(program, setExitCode);
  addOperatorCommands(program, environment, setExitCode);
  await program.parseAsync(args, { from: 'user' });
  return exitCode;
}

function addPlugin(program: Command, setExitCode: (code: number) => void): void {
  const plugin = program.command('plugin').summary('look at the plugins of a running server, start and stop them').helpCommand(false);
  const add = (usage: string, summary: string, run: (options: ServerOptions, name: string) => Promise<number>): void => {
    plugin
      .command(usage)
      .summary(summary)
      .description(summary)
      .option('--server <url>', 'the server', 'http://127.0.0.1:8090')
      .option('--token-file <file>', 'file that holds a token', './data/admin-token')
      // Before the options comes the name, where there is one.
      .action(async (...given: unknown[]) => {
        const command = given.at(-1) as Command;
        setExitCode(await run(command.opts<{ server: string; tokenFile: string }>(), command.args[0] ?? ''));
      });
  };
  // Loaded only when one is run: a server has no need of it.
  add('list', 'the plugins, and the phase of each', async (options) => (await import('./plugin-command.ts')).listPlugins(options));
  add('enable <name>', 'start a plugin, and wait for what comes of it', async (options, name) => (await import('./plugin-command.ts')).enablePlugin(options, name, true));
  add('disable <name>', 'stop a plugin, and wait for it', async (options, name) => (await import('./plugin-command.ts')).enablePlugin(options, name, false));
}

function addGenerate(program: Command, setExitCode: (code: number) => void): void {
  const generate = program.command('generate').summary('write source files from what a server has').helpCommand(false);
  generate
    .command('types')
    .summary('write TypeScript types and clients for the models of a running server')
    .description('Writes TypeScript types and clients for the models of a running server: one file for each group and version.')
    .option('--server <url>', 'the server', 'http://127.0.0.1:8090')
    .option('--token-file <file>', 'file that holds a token', './data/admin-token')
    .option('--out <folder>', 'where the files go', './types')
    .option('--group <group>', 'only the models of this group; may be given several times', gather, [])
    .option('--model <plural.group>', 'only this model; may be given several times', gather, [])
    .option('--sdk <module>', "module of the client's types", '@svc/sdk')
    .action(async ({ group, model, ...options }: { server: string; tokenFile: string; out: string; sdk: string; group: string[]; model: string[] }) => {
      // Loaded only here: a server has no need of it.
      const { writeTypes } = await import('./generate-types.ts');
      setExitCode(await writeTypes({ ...options, groups: group, models: model }));
    });
}

function gather(value: string, before: string[]): string[] {
  return [...before, value];
}

function checkFirstWord([word]: readonly string[]): void {
  if (word === undefined || !/^[a-z-]{2,20}$/.test(word) || word.startsWith('-')) return;
  const names = [...verbs.map(({ name }) => name), 'version', 'new-token', 'generate', 'plugin', ...operatorCommandNames];
  const nearest = nearestName(word, names);
  throw new OperatorError(`There is no command ${word}; ${nearest === undefined ? `there are ${names.join(', ')}.` : `did you mean ${nearest}?`}`);
}
