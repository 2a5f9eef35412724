import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { DataTable } from '../interface/data-table.tsx';
import { models } from '../server/discovery.ts';
import { modelName, type ModelInfo } from '../server/model-info.ts';
import { useObservable } from '../server/observable.ts';
import type { PluginEndpoint, PluginObject, PluginPreset } from '../server/plugin-info.ts';
import { listLink, objectLink } from '../shell/links.ts';
import { NamedObject } from '../shell/named-object.tsx';
import { texts } from '../texts/texts.ts';

const roleInfo = { group: 'rbac.authorization.k8s.io', plural: 'clusterroles' };

/** What a plugin brought: models, controllers, endpoints, presets and roles. */
export function PluginContent({ plugin }: { plugin: PluginObject }) {
  const all = useObservable(models) ?? [];
  const { models: names = [], controllers = [], endpoints = [], presets = [] } = plugin.status ?? {};
  const { content } = texts.plugins;
  const isEmpty = names.length + controllers.length + endpoints.length + presets.length === 0;
  return (
    <section aria-labelledby="brought">
      <h2 id="brought">{content.title}</h2>
      {isEmpty ? <p>{content.none}</p> : undefined}
      <dl className="facts-list">
        <Part
          name={content.models}
          items={names.map((name) => (
            <Model key={name} name={name} all={all} />
          ))}
        />
        <Part name={content.controllers} items={controllers} />
        <Part
          name={content.presets}
          items={presets.map((preset) => (
            <Preset key={presetKey(preset)} {...preset} />
          ))}
        />
        <Part
          name={content.roles}
          items={isEmpty ? [] : rolesOf(plugin).map((name) => <Role key={name} name={name} />)}
        />
      </dl>
      {endpoints.length === 0 ? undefined : <Endpoints endpoints={endpoints} />}
    </section>
  );
}

function Part({ name, items }: { name: string; items: readonly ReactNode[] }) {
  if (items.length === 0) return undefined;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <ul className="plugin-parts">
          {items.map((item, at) => (
            // oxlint-disable-next-line react/no-array-index-key -- They have no state.
            <li key={at}>{item}</li>
          ))}
        </ul>
      </dd>
    </div>
  );
}

/** The name of a definition; a link while its model is served and may be listed. */
function Model({ name, all }: { name: string; all: readonly ModelInfo[] }) {
  const model = all.find((each) => modelName(each) === name);
  return model === undefined ? name : <Link href={listLink(model)}>{name}</Link>;
}

function Preset({ adopted = false, kept = false, ...named }: PluginPreset) {
  const note = adopted ? texts.plugins.content.adopted : kept ? texts.plugins.content.kept : '';
  return (
    <>
      <NamedObject {...named} /> <small className="facts">{note}</small>
    </>
  );
}

function presetKey({ apiVersion, kind, namespace, name }: PluginPreset): string {
  return [apiVersion, kind, namespace, name].join(' ');
}

/** Those that the platform makes for its models, and the one of the plugin itself. */
function rolesOf({ metadata, status }: PluginObject): string[] {
  return [
    ...(status?.models ?? []).flatMap((name) => [`${name}:view`, `${name}:manage`]),
    `system:plugin:${metadata.name}`,
  ];
}

function Role({ name }: { name: string }) {
  return <Link href={objectLink(roleInfo, { name })}>{name}</Link>;
}

const prefixes = { console: 'console.api.', uc: 'uc.api.', public: 'api.' } as const;

function Endpoints({ endpoints }: { endpoints: readonly PluginEndpoint[] }) {
  const { content } = texts.plugins;
  const pathOf = ({ audience, group, version, path }: PluginEndpoint): string =>
    `/apis/${prefixes[audience]}${group}/${version}${path}`;
  return (
    <>
      <h3>{content.endpoints}</h3>
      <DataTable
        label={content.endpoints}
        columns={[content.endpoint, content.audience, content.summary]}
        rows={endpoints.map((endpoint) => [
          <code key="path">{`${endpoint.method} ${pathOf(endpoint)}`}</code>,
          content.audiences[endpoint.audience],
          endpoint.summary,
        ])}
      />
    </>
  );
}
