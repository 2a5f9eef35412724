/** One panel, as a person thinks of it: what it shows, in which unit, and lines by their legends. */
export interface PanelPlan {
  readonly title: string;
  /** One of Grafana's: `s`, `bytes`, `reqps`, `percentunit`, `short`. */
  readonly unit: string;
  /** PromQL by legend; a legend may name labels: `{{instance}}`. */
  readonly lines: Readonly<Record<string, string>>;
  /** A large number instead of lines over time. */
  readonly isNumber?: boolean;
  readonly description?: string;
}

export interface RowPlan {
  readonly title: string;
  readonly panels: readonly PanelPlan[];
}

export interface DashboardPlan {
  readonly uid: string;
  readonly title: string;
  /** Which processes it is about: a pattern of `svc_build_info`'s component. */
  readonly components: string;
  readonly rows: readonly RowPlan[];
}

interface Place {
  x: number;
  y: number;
  w: number;
  h: number;
}

const datasource = { type: 'prometheus', uid: '${datasource}' };
const width = 24;

/** Grafana's model of it. Source: Grafana 10, dashboard JSON model, schema version 38; later ones read it. */
export function grafanaDashboard({ uid, title, components, rows }: DashboardPlan): object {
  return {
    uid,
    title,
    tags: ['svc'],
    schemaVersion: 38,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    timezone: '',
    links: [
      {
        type: 'dashboards',
        title: 'svc',
        tags: ['svc'],
        asDropdown: false,
        includeVars: false,
        keepTime: true,
        targetBlank: false,
        icon: 'external link',
        url: '',
        tooltip: '',
      },
    ],
    annotations: { list: [] },
    templating: { list: variables(components) },
    panels: panelsOf(rows),
  };
}

function variables(components: string): object[] {
  const ofQuery = (name: string, query: string) => ({
    name,
    label: name,
    type: 'query',
    datasource,
    query: { query, refId: name },
    definition: query,
    refresh: 2,
    sort: 1,
    multi: true,
    includeAll: true,
    current: { text: ['All'], value: ['$__all'] },
  });
  return [
    {
      name: 'datasource',
      label: 'datasource',
      type: 'datasource',
      query: 'prometheus',
      refresh: 1,
      current: {},
      hide: 0,
    },
    // A label that is missing is empty, which no list of values holds.
    { ...ofQuery('namespace', 'label_values(svc_build_info, namespace)'), allValue: '.*' },
    // All is all that are listed: other programs have metrics of the same names.
    ofQuery('instance', `label_values(svc_build_info{namespace=~"$namespace", component=~"${components}"}, instance)`),
  ];
}

function panelsOf(rows: readonly RowPlan[]): object[] {
  const panels: object[] = [];
  let y = 0;
  const add = (panel: object): number => panels.push({ id: panels.length + 1, ...panel });
  for (const { title, panels: plans } of rows) {
    add({ type: 'row', title, collapsed: false, panels: [], gridPos: { x: 0, y, w: width, h: 1 } });
    y += 1;
    let x = 0;
    let height = 0;
    for (const plan of plans) {
      const size = plan.isNumber === true ? { w: 4, h: 4 } : { w: 8, h: 8 };
      if (x + size.w > width) [x, y] = [0, y + height];
      add(drawn(plan, { x, y, ...size }));
      [x, height] = [x + size.w, size.h];
    }
    y += height;
  }
  return panels;
}

function drawn({ title, unit, lines, isNumber = false, description }: PanelPlan, gridPos: Place): object {
  const targets = Object.entries(lines).map(([legendFormat, expr], i) => ({
    refId: String.fromCharCode(65 + i),
    datasource,
    expr,
    legendFormat,
    ...(isNumber ? { instant: true } : { range: true }),
  }));
  const shared = { title, ...(description === undefined ? {} : { description }), datasource, gridPos, targets };
  if (isNumber) {
    return {
      type: 'stat',
      ...shared,
      fieldConfig: { defaults: { unit }, overrides: [] },
      options: {
        reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
        colorMode: 'value',
        graphMode: 'none',
        textMode: Object.keys(lines).length > 1 || lines['{{version}}'] !== undefined ? 'value_and_name' : 'value',
      },
    };
  }
  const custom = { drawStyle: 'line', lineWidth: 1, fillOpacity: 10, showPoints: 'never', spanNulls: false };
  return {
    type: 'timeseries',
    ...shared,
    fieldConfig: { defaults: { unit, min: 0, custom }, overrides: [] },
    options: {
      legend: { displayMode: 'list', placement: 'bottom', showLegend: true, calcs: [] },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
  };
}
