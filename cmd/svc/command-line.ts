import { Command } from 'commander';
import { newPersonalToken } from '#pkg/identity/index';
import { checkDatabaseUrl } from './check-options.ts';
import { migrate } from './migrate.ts';
import { OperatorError } from './operator-error.ts';
import { formatOptionTable } from './options/format-option-table.ts';
import { loadOptions, type LoadedOptions } from './options/load-options.ts';
import { nearestName } from './options/nearest-name.ts';
import { serve } from './serve.ts';
import { svcVersion } from './svc-version.ts';

type Environment = Readonly<Record<string, string | undefined>>;

interface Verb {
  readonly name: string;
  readonly summary: string;
  readonly run: (loaded: LoadedOptions) => Promise<number>;
}

const verbs: readonly Verb[] = [
  { name: 'serve', summary: 'the content platform, on an embedded PostgreSQL unless svc.database.url is set (default)', run: serve },
  {
    name: 'apiserver',
    summary: 'the content platform on the PostgreSQL of svc.database.url',
    run: async (loaded) => {
      checkDatabaseUrl(loaded.options);
      return serve(loaded);
    },
  },
  { name: 'migrate', summary: 'bring the database up to date, and end', run: migrate },
];

/** Runs one command line (without node and script); resolves to the exit code. Throws OperatorError. */
export async function runCommandLine(args: readonly string[], environment: Environment): Promise<number> {
  let exitCode = 0;
  const program = new Command('svc').description('The Kubernetes way of working without Kubernetes.').addHelpText('afterAll', `\n${formatOptionTable()}`);
  program.helpCommand(false);
  for (const { name, summary, run } of verbs) {
    program
      .command(name, { isDefault: name === 'serve' })
      .summary(summary)
      .description(summary)
      .option('--config <folder>', 'folder of YAML files (default: ./config, where there is one)')
      // svc.* options are ours to read: commander would repeat a misspelled one with its value.
      .allowUnknownOption()
      .allowExcessArguments()
      .action(async ({ config }: { config?: string }, { args: rest }: Command) => {
        checkFirstWord(rest);
        exitCode = await run(loadOptions({ configFolder: config, environment, args: rest }));
      });
  }
  program.command('version').summary('print the version').action(() => void process.stdout.write(`${svcVersion()}\n`));
  program
    .command('new-token')
    .summary('print a new personal token, for svc.security.initial-admin-token')
    .action(() => void process.stdout.write(`${newPersonalToken()}\n`));
  await program.parseAsync(args, { from: 'user' });
  return exitCode;
}

function checkFirstWord([word]: readonly string[]): void {
  if (word === undefined || !/^[a-z-]{2,20}$/.test(word) || word.startsWith('-')) return;
  const names = [...verbs.map(({ name }) => name), 'version', 'new-token'];
  const nearest = nearestName(word, names);
  throw new OperatorError(`There is no command ${word}; ${nearest === undefined ? `there are ${names.join(', ')}.` : `did you mean ${nearest}?`}`);
}
