/** The access paths of a statement, from PostgreSQL's EXPLAIN, and an estimate of the rows that it visits. */
import type { BoundStatement, Database, Row } from '../database.ts';
import type { StatementAccess, TableAccess } from '../statement-access.ts';

/** A node of a plan in the JSON format, as far as it is read. */
interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Parent Relationship'?: string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly 'Plan Rows': number;
  readonly Plans?: readonly PlanNode[];
}

/** Explains a statement with its values, without running it. */
export async function inspectPostgresStatement(
  { read }: Pick<Database, 'read'>,
  { text, values }: BoundStatement,
): Promise<StatementAccess> {
  const [explained = []] = await read([{ text: `EXPLAIN (FORMAT JSON) ${text}`, values }]);
  const [{ Plan: plan }] = JSON.parse(String(explained[0]?.[0])) as [{ Plan: PlanNode }];
  const [sizes = []] = await read([{ text: selectSizes, values: [[...listTables(plan)]] }]);
  return readAccess(plan, sizes);
}

/** How many rows each table has, by the statistics. */
const selectSizes = `SELECT c.relname,greatest(c.reltuples,s.n_live_tup)::float8 FROM pg_class c
LEFT JOIN pg_stat_user_tables s ON s.relid=c.oid
WHERE c.relname=ANY($1::text[]) AND c.relnamespace=current_schema()::regnamespace`;

function listTables(node: PlanNode): Set<string> {
  const tables = new Set((node.Plans ?? []).flatMap((each) => [...listTables(each)]));
  const own = node['Relation Name'];
  return own === undefined ? tables : tables.add(own);
}

/** @param sizes the rows of {@link selectSizes}. */
function readAccess(plan: PlanNode, sizes: readonly Row[]): StatementAccess {
  const access = new PlanAccess(new Map(sizes.map(([table, size]) => [String(table), Number(size)])));
  access.read(plan, 1, null);
  const { tables, sorts, visited, visitedByTotal } = access;
  return { tables, sorts, visited, visitedByTotal };
}

/** Nodes that read all of their rows before they return the first one. */
const blocking = /^(Sort|Aggregate|Hash|Materialize)$/;

class PlanAccess {
  readonly tables: TableAccess[] = [];
  sorts = false;
  visited = 0;
  visitedByTotal = 0;
  readonly #sizes: ReadonlyMap<string, number>;

  constructor(sizes: ReadonlyMap<string, number>) {
    this.#sizes = sizes;
  }

  /**
   * @param share of the node's rows that its parent reads: a limit ends its input early, unless that is sorted first.
   * @param relation the table of a bitmap scan, whose index is named in a node of its own.
   */
  read(node: PlanNode, share: number, relation: string | null, isTotal = false): void {
    const type = node['Node Type'];
    const table = node['Relation Name'] ?? relation;
    if (table !== null && / Scan$/.test(type)) this.#readScan(node, table, share, isTotal);
    if (/Sort$/.test(type)) this.sorts = true;
    const inputs = node.Plans ?? [];
    for (const input of inputs) {
      // The total is a subquery without parameters, which runs once.
      const isTotalInput = isTotal || input['Parent Relationship'] === 'InitPlan';
      const bitmapOf = type.startsWith('Bitmap') ? table : null;
      this.read(input, this.#inputShare(node, input, share), bitmapOf, isTotalInput);
    }
  }

  #inputShare(node: PlanNode, input: PlanNode, share: number): number {
    const type = node['Node Type'];
    if (blocking.test(type) || input['Parent Relationship'] !== 'Outer') return 1;
    if (type === 'Limit') return Math.min(1, node['Plan Rows'] / Math.max(1, input['Plan Rows']));
    return share;
  }

  #readScan(node: PlanNode, table: string, share: number, isTotal: boolean): void {
    const type = node['Node Type'];
    const index = node['Index Name'] ?? null;
    // The index of a bitmap scan is in the node below it, whose rows are those of its parent.
    if (type === 'Bitmap Heap Scan') {
      this.#count(node['Plan Rows'], 0, isTotal);
      return;
    }
    const seeks = node['Index Cond'] !== undefined;
    this.tables.push({ table, index, seeks });
    if (type === 'Bitmap Index Scan') return;
    const rows = seeks ? node['Plan Rows'] : Math.max(this.#sizes.get(table) ?? 0, node['Plan Rows']);
    this.#count(rows * share, node['Plan Rows'], isTotal);
  }

  #count(rows: number, returned: number, isTotal: boolean): void {
    if (isTotal) this.visitedByTotal += Math.max(0, rows - returned);
    else this.visited += rows;
  }
}
