import { Option, type Command } from 'commander';
import type { ServerSources } from './find-server.ts';
import type { WriteTypesOptions } from './generate-types.ts';
import { operandIn } from './operand-in.ts';
import type { Environment } from '../composition/start-plugins.ts';

/** The commands that call a running server. */
export const serverCommandNames = ['generate', 'plugin'];

type GivenServer = Pick<ServerSources, 'server' | 'tokenFile' | 'config'>;

interface GivenPlugin {
  name: string;
  deleteData?: boolean;
  deleteFolder?: boolean;
}

interface Adding {
  program: Command;
  environment: Environment;
  setExitCode: (code: number) => void;
}

/** Adds `svc generate` and `svc plugin`, which find the server by its own start options. */
export function addServerCommands(adding: Adding): void {
  addGenerate(adding);
  addPlugin(adding);
}

function addPlugin({ program, environment, setExitCode }: Adding): void {
  const group = program.command('plugin').helpCommand(false);
  group.summary('look at the plugins of a running server, start, stop and remove them');
  const add = (
    usage: string,
    summary: string,
    run: (sources: ServerSources, plugin: GivenPlugin) => Promise<number>,
  ): Command => {
    const command = withServer(group.command(usage), summary);
    const isNamed = usage.includes('<name>');
    return command.action(async () => {
      const { args } = command;
      const given = command.opts<GivenServer & Omit<GivenPlugin, 'name'>>();
      const name = isNamed ? operandIn(args, { what: 'name', usage: `svc plugin ${usage}` }) : '';
      setExitCode(await run({ ...given, args: isNamed ? args.slice(1) : args, environment }, { ...given, name }));
    });
  };
  // Loaded only when a command runs: a server does not need it.
  const commands = (): Promise<typeof import('./plugin-command.ts')> => import('./plugin-command.ts');
  add('list', 'the plugins, and the phase of each', async (sources) => (await commands()).listPlugins(sources));
  add('enable <name>', 'start a plugin, and wait for what comes of it', async (sources, { name }) =>
    (await commands()).enablePlugin(sources, name, true),
  );
  add('disable <name>', 'stop a plugin, and wait for it', async (sources, { name }) =>
    (await commands()).enablePlugin(sources, name, false),
  );
  const removal = 'stop a plugin and delete it; its definitions and their objects stay, unless told otherwise';
  add('remove <name>', removal, async (sources, { name, deleteData = false, deleteFolder = false }) =>
    (await import('./remove-plugin.ts')).removePlugin(sources, { name, deleteData, deleteFolder }),
  )
    .option(
      '--delete-data',
      'delete its definitions with all their objects, too: the objects first, while its controllers run',
    )
    .option('--delete-folder', 'delete its folder in svc.plugins.dir, which brings it back otherwise');
}

function addGenerate({ program, environment, setExitCode }: Adding): void {
  const generate = program.command('generate').summary('write source files from what a server has').helpCommand(false);
  const summary =
    'write TypeScript types and clients for the models of a running server: one file for each group and version';
  const types = withServer(generate.command('types'), summary)
    .option('--out <folder>', 'where the files go', './types')
    .option('--group <group>', 'only the models of this group; may be given several times', gather, [])
    .option('--model <plural.group>', 'only this model; may be given several times', gather, [])
    .addOption(new Option('--target <target>', 'what the code is for').choices(['node', 'browser']).default('node'))
    .option('--sdk <module>', 'module of the types of clients (default: @svc/sdk, for a browser @svc/client)')
    .option('--watch', 'go on, and write again whenever a definition changes', false);
  types.action(async () => {
    const { group, model, ...given } = types.opts<
      GivenServer & Pick<WriteTypesOptions, 'out' | 'target' | 'sdk' | 'watch'> & { group: string[]; model: string[] }
    >();
    // Loaded only here: a server does not need it.
    const { writeTypes } = await import('./generate-types.ts');
    setExitCode(await writeTypes({ ...given, args: types.args, environment, groups: group, models: model }));
  });
}

function withServer(command: Command, summary: string): Command {
  return (
    command
      .summary(summary)
      .description(summary)
      .option('--server <url>', 'the server (default: where the options below say that it listens)')
      .option('--token-file <file>', 'file that holds a token (default: admin-token in svc.data.dir)')
      .option('--config <folder>', 'folder of YAML files, as of the server (default: ./config, where there is one)')
      // svc.* options are parsed separately, as with `serve`.
      .allowUnknownOption()
      .allowExcessArguments()
  );
}

function gather(value: string, before: string[]): string[] {
  return [...before, value];
}
