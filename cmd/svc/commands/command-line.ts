import { Command } from 'commander';
import { nearestName } from '#pkg/apimachinery/index';
import { newPersonalToken } from '#pkg/identity/index';
import { checkDatabaseUrl } from '../options/check-options.ts';
import { addOperatorCommands, operatorCommandNames } from './operator-commands.ts';
import { OperatorError } from '../options/operator-error.ts';
import { formatOptionTable } from '../options/format-option-table.ts';
import { loadOptions, type LoadedOptions } from '../options/load-options.ts';
import { optionNames } from '../options/option-table.ts';
import { optionsOfCommand } from '../options/options-of-command.ts';
import { addServerCommands, serverCommandNames } from './server-commands.ts';
import type { Environment } from '../composition/start-plugins.ts';
import { consoleFolder } from '../process/console-folder.ts';
import { svcVersion } from '../process/svc-version.ts';

interface Verb {
  readonly name: string;
  readonly summary: string;
  /** Options other than svc.* ones: their form and description. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly run: (loaded: LoadedOptions, environment: Environment, given: Given) => Promise<number>;
}

interface Given {
  readonly config?: string;
  readonly check?: true;
}

/** Each command loads its code when it runs: loading the whole server would delay a small command by a second. */
const verbs: readonly Verb[] = [
  {
    name: 'serve',
    summary:
      'the content platform and the access management service, on an embedded PostgreSQL unless svc.database.url is set (default)',
    run: async (loaded, environment) =>
      (await import('./serve.ts')).serve(loaded, {
        controllers: true,
        accessServer: true,
        local: true,
        environment,
        consoleFolder: consoleFolder(),
      }),
  },
  {
    name: 'apiserver',
    summary: 'the API alone, without controllers and plugins, on the PostgreSQL of svc.database.url',
    run: async (loaded, environment) => {
      checkDatabaseUrl(loaded.options, 'apiserver');
      const { serve } = await import('./serve.ts');
      return serve(loaded, {
        controllers: false,
        accessServer: false,
        local: false,
        environment,
        consoleFolder: consoleFolder(),
      });
    },
  },
  {
    name: 'access-server',
    summary:
      'the access management service alone, on the PostgreSQL of svc.database.url, for the content platform at svc.access.api-url',
    run: async (loaded) => {
      checkDatabaseUrl(loaded.options, 'access-server');
      return (await import('./access-server.ts')).accessServer(loaded);
    },
  },
  {
    name: 'controller-manager',
    summary: 'the controllers and plugins alone, for the server at svc.controllers.api-url',
    run: async (loaded, environment) =>
      (await import('./controller-manager.ts')).controllerManager(loaded, environment),
  },
  {
    name: 'migrate',
    summary: 'bring the database up to date, and end',
    flags: {
      '--check':
        'change nothing: say what would be run, and end with 1 where this version cannot take the database over',
    },
    run: async (loaded, _environment, { check }) => {
      const { checkMigrate, migrateDatabase } = await import('./migrate.ts');
      return check === true ? checkMigrate(loaded) : migrateDatabase(loaded);
    },
  },
];

/** Runs one command line (without node and script); resolves to the exit code. Throws OperatorError. */
export async function runCommandLine(args: readonly string[], environment: Environment): Promise<number> {
  let exitCode = 0;
  const program = new Command('svc').description('The Kubernetes way of working without Kubernetes.');
  program.addHelpText('after', `\n${formatOptionTable(optionNames)}`);
  program
    .helpCommand(false)
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'svc: ')) });
  for (const { name, summary, flags = {}, run } of verbs) {
    const command = program.command(name, { isDefault: name === 'serve' });
    for (const [flag, effect] of Object.entries(flags)) command.option(flag, effect);
    command
      .summary(summary)
      .description(summary)
      .option('--config <folder>', 'folder of YAML files (default: ./config, where there is one)')
      // svc.* options are parsed separately: commander would quote a misspelled one with its value.
      .allowUnknownOption()
      .allowExcessArguments()
      .action(async (given: Given, { args: rest }: Command) => {
        checkFirstWord(rest);
        exitCode = await run(loadOptions({ configFolder: given.config, environment, args: rest }), environment, given);
      });
  }
  program.version(svcVersion(), '--version', 'print the version');
  program
    .command('version')
    .summary('print the version')
    .action(() => void process.stdout.write(`${svcVersion()}\n`));
  program
    .command('new-token')
    .summary('print a new personal token, for svc.security.initial-admin-token')
    .action(() => void process.stdout.write(`${newPersonalToken()}\n`));
  const setExitCode = (code: number): void => {
    exitCode = code;
  };
  addServerCommands({ program, environment, setExitCode });
  addOperatorCommands(program, environment, setExitCode);
  for (const command of program.commands) addOptionHelp(command, command.name());
  await program.parseAsync(args, { from: 'user' });
  return exitCode;
}

/** Lists only the options that the command uses. A group has none of its own, only its commands have. */
function addOptionHelp(command: Command, words: string): void {
  for (const each of command.commands) addOptionHelp(each, `${words} ${each.name()}`);
  const isGroup = command.commands.length > 0 && command.options.length === 0;
  const names = isGroup ? [] : optionsOfCommand(words, optionNames);
  if (names.length === 0) return;
  command.addHelpText(
    'after',
    `\n${formatOptionTable(names)}\n\nThe other options of svc may be given, and have no effect here.`,
  );
}

function checkFirstWord([word]: readonly string[]): void {
  if (word === undefined || !/^[a-z-]{2,20}$/.test(word) || word.startsWith('-')) return;
  const names = [
    ...verbs.map(({ name }) => name),
    'version',
    'new-token',
    ...serverCommandNames,
    ...operatorCommandNames,
  ];
  const nearest = nearestName(word, names);
  throw new OperatorError(
    `There is no command ${word}; ${nearest === undefined ? `there are ${names.join(', ')}.` : `did you mean ${nearest}?`}`,
  );
}
