/**
 * The Rust core, as this package sees it.
 *
 * Owns the one import of the addon. Everything that decides anything (routing, Access Scopes, schemas, messages, the
 * Filesystem Map) is behind it; no other file of this package may decide.
 */
import native from "../native.cjs";

export type {
  BaseFunctions,
  BaseItem,
  BaseNames,
  BasePage,
  NativeAnswer,
  NativeCall,
  NativeMount,
  NativeOptions,
  NativePiece,
  NativeTool,
  NativeTurn,
  PortFunctions,
  PortStat,
} from "../native.cjs";

/**
 * `Store`: one of Paddock's own, made by `physicalStore`, `virtualStore`, `baseStore` or `overlayStore`; opaque.
 * `Core`: the tools and the map over some Workspaces. `Locks`: those of one JavaScript store object.
 */
export type { NativeStore as Store, NativeWorkspaces as Core, StoreLocks as Locks } from "../native.cjs";

export const { NativeStore, NativeWorkspaces, StoreLocks, checkOptions } = native;
