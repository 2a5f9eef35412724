import { allowedImports, allowedInTests, testFiles } from './allowed-imports.mjs';

const ours = '^(?:pkg|cmd|console|test|bench|hack)/';
/** dependency-cruiser's type for an alias in package.json's `imports`: #pkg/... */
const alias = 'aliased-subpath-import';

/** The rules for dependency-cruiser; `comment` is part of a violation's message. */
export const importRules = [
  { name: 'no-cycle', comment: 'files import each other in a cycle', from: {}, to: { circular: true } },
  {
    name: 'resolves',
    comment: 'there is no such module',
    from: {},
    to: { couldNotResolve: true, pathNot: '^@svc/(?:sdk|client|client/page)$' },
  },
  {
    name: 'no-path',
    comment: 'an import must not use an absolute path, or one that leaves the repository',
    from: {},
    to: { path: String.raw`^(?:/|\.\./|file:)` },
  },
  ...[...allowedImports].flatMap(([name, allowed]) => packageRules(name, allowed)),
  {
    name: 'own-files-directly',
    comment: 'a package imports its own files directly',
    from: { path: '^pkg/([^/]+)/' },
    to: { path: '^pkg/$1/', dependencyTypes: [alias] },
  },
  {
    name: 'entry-point',
    comment: 'a package is imported by its entry point #pkg/<package>/index',
    from: { path: '^pkg/([^/]+)/' },
    to: { path: '^pkg/', pathNot: ['^pkg/$1/', '^pkg/testenv/'], dependencyTypesNot: [alias] },
  },
  {
    name: 'entry-point-of-cmd',
    comment: 'a package is imported by its entry point #pkg/<package>/index',
    from: { path: '^cmd/' },
    to: { path: '^pkg/', pathNot: '^pkg/testenv/', dependencyTypesNot: [alias] },
  },
  {
    name: 'nothing-deeper-of-cmd',
    comment: 'a package is imported by its entry point #pkg/<package>/index',
    from: { path: '^cmd/' },
    to: { path: '^pkg/', pathNot: [String.raw`^pkg/index\.ts$`, String.raw`^pkg/[a-z]+/index\.ts$`, '^pkg/testenv/'] },
  },
  {
    name: 'tests-only',
    comment: 'it is for tests only',
    from: { path: '^(?:pkg|cmd)/', pathNot: testFiles },
    to: { path: testFiles },
  },
  {
    name: 'one-program',
    comment: 'a program imports its own files and packages',
    from: { path: '^cmd/([^/]+)/' },
    to: { path: ours, pathNot: ['^cmd/$1/', '^pkg/'] },
  },
  {
    name: 'suite',
    comment: 'a suite imports its own files and test/system/harness, never another suite or bench',
    from: { path: '^(test/system/[^/]+)/' },
    to: { path: '^(?:test|bench)/', pathNot: ['^$1/', '^test/system/harness/'] },
  },
  {
    name: 'bench',
    comment: 'bench imports its own files and test/system/harness, never a suite',
    from: { path: '^bench/' },
    to: { path: '^test/', pathNot: '^test/system/harness/' },
  },
  {
    name: 'hack',
    comment: 'hack imports nothing but what starts a test database',
    from: { path: '^hack/' },
    to: { path: ours, pathNot: '^(?:hack|pkg/testenv|pkg/database)/' },
  },
  {
    name: 'plugin-sample',
    comment: 'a plugin imports @svc/sdk, @svc/client and its own files',
    from: { path: '^(config/samples/plugins/[^/]+)/' },
    to: { pathNot: ['^$1/', '^@svc/(?:sdk|client|client/page)$', '^pkg/webclient/(?:page/)?index\\.ts$'] },
  },
].map((rule) => ({ severity: 'error', ...rule }));

function packageRules(name, allowed) {
  const isIndex = name === 'index';
  const own = isIndex ? String.raw`^pkg/index\.ts$` : `^pkg/${name}/`;
  const entryPoints = (names) => names.map((each) => entryPoint(each));
  if (allowed === 'any') return [rule({ path: own }, entryPoints(['index', ...allowedImports.keys()]), 'any package')];
  const comment = allowed.length === 0 ? 'no package' : allowed.join(', ');
  return [
    rule({ path: own, pathNot: testFiles }, entryPoints(allowed), comment),
    rule(
      { path: `${own}.*(?:${testFiles})` },
      [...entryPoints([...allowed, ...allowedInTests]), '^pkg/testenv/'],
      `${comment}, and in tests ${allowedInTests.join(' and ')}`,
      'tests-',
    ),
  ];

  function rule(from, mayImport, text, prefix = '') {
    return {
      name: `${prefix}of-${name}`,
      comment: `${name} may import only ${text}, each by its entry point`,
      from,
      to: { path: ours, pathNot: [own, ...mayImport] },
    };
  }
}

function entryPoint(name) {
  return name === 'index' ? String.raw`^pkg/index\.ts$` : String.raw`^pkg/${name}/index\.ts$`;
}
