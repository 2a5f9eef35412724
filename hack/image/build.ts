/**
 * Builds the image with any container engine: `make image ARGS='--tag=registry.example.com/svc:1.2.3
 * --engine=podman'`. Further arguments go to its build command.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildInfo } from '../builds/build-info.mjs';
import { buildArguments, dockerfile, repository } from './dockerfile.ts';

const engines = ['docker', 'podman', 'buildah'] as const;

/** The first engine that responds: docker may be installed without its server. */
function findEngine(): string | undefined {
  return engines.find((engine) => spawnSync(engine, ['info'], { stdio: 'ignore' }).status === 0);
}

function main(args: readonly string[]): number {
  const valueOf = (name: string): string | undefined =>
    args.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);
  const engine = valueOf('engine') ?? findEngine();
  if (engine === undefined) {
    process.stderr.write(`Building an image needs one of ${engines.join(', ')}, and none of them works here.\n`);
    return 1;
  }
  const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string };
  const tags = valueOf('tag') === undefined ? [`svc:${version}`, 'svc:latest'] : [valueOf('tag')!];
  const others = args.filter((argument) => !/^--(tag|engine)=/.test(argument));
  process.stdout.write(`${engine}: ${tags.join(', ')}\n`);
  return (
    spawnSync(
      engine,
      [
        'build',
        '--file',
        dockerfile,
        ...buildArguments(buildInfo(repository)),
        ...tags.flatMap((tag) => ['--tag', tag]),
        ...others,
        repository,
      ],
      { stdio: 'inherit' },
    ).status ?? 1
  );
}

process.exitCode = main(process.argv.slice(2));
