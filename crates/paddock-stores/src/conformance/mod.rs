//! What every Store must do: one suite, told as small stories, for any Store there is or will be.
//!
//! Only the Vfs can mint a Place, so the suite drives a Store as an agent would: through a Vfs with
//! a read-write Workspace at `/w` and a Gate that lets everything pass. Each case gets a fresh
//! Store. What a Store may legitimately lack is said in [`Capabilities`], and nowhere else.
//!
//! ```
//! use std::sync::Arc;
//! use paddock_core::Store;
//! use paddock_stores::MemoryStore;
//! use paddock_stores::conformance::{Capabilities, Fixture, Fresh, suite};
//!
//! struct InMemory(Arc<MemoryStore>);
//! impl Fresh for InMemory {
//!     fn store(&self) -> Arc<dyn Store> {
//!         self.0.clone()
//!     }
//! }
//! fn in_memory() -> Fixture {
//!     let can = Capabilities { links: false, modes: false, atomic_sets: true };
//!     Fixture::new(can, || Box::new(InMemory(Arc::default())))
//! }
//!
//! // In a test binary: one #[test] for each case, in a module of this name.
//! paddock_stores::conformance_tests!(memory, in_memory);
//! // Or by hand:
//! (suite()[0].run)(&in_memory());
//! ```
//!
//! The suite is ordinary code of this crate so that other crates can run it; nothing of Paddock
//! itself calls it.

pub mod altering;
pub mod arranging;
pub mod boundaries;
pub mod finding;
pub mod links;
pub mod meanwhile;
pub mod naming;
pub mod racing;
pub mod reading;
pub mod taking;
pub mod walking;
pub mod world;
pub mod writing;

use std::fmt;
use std::sync::Arc;

use paddock_core::{Quota, Store};

pub use world::{Space, World};

/// A Store that holds nothing yet, and what a test may do to it behind its back.
pub trait Fresh: Send + Sync {
    /// The Store.
    fn store(&self) -> Arc<dyn Store>;

    /// Puts a symbolic link there, with the directories above it; the target counts from where the
    /// link stands. Only called where [`Capabilities::links`] says so.
    fn plant_link(&self, path: &str, target: &str) {
        panic!("this Store has no links, yet one from {path} to {target} was asked for");
    }

    /// Gives what is there these mode bits. Only called where [`Capabilities::modes`] says so.
    fn set_mode(&self, path: &str, mode: u32) {
        panic!("this Store keeps no modes, yet {mode:o} was asked for {path}");
    }
}

/// What a Store can do beyond what all of them must.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Symbolic links can be in it.
    pub links: bool,
    /// It keeps Unix mode bits.
    pub modes: bool,
    /// A set of several changes is made as a whole or not at all.
    pub atomic_sets: bool,
}

/// What holds for every change of a case.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Conditions {
    keep: bool,
    quota: Quota,
}

/// Makes fresh Stores of one kind.
pub struct Fixture {
    can: Capabilities,
    conditions: Conditions,
    make: Box<dyn Fn() -> Box<dyn Fresh>>,
}

impl Fixture {
    /// A kind of Store: what it can, and how one is made.
    pub fn new(can: Capabilities, make: impl Fn() -> Box<dyn Fresh> + 'static) -> Self {
        Self { can, conditions: Conditions::default(), make: Box::new(make) }
    }

    /// With every change asked to keep what it replaces.
    #[must_use]
    pub fn keeping(mut self) -> Self {
        self.conditions.keep = true;
        self
    }

    /// With this quota on every Workspace; one that no case comes near.
    #[must_use]
    pub fn within(mut self, quota: Quota) -> Self {
        self.conditions.quota = quota;
        self
    }

    /// What this kind of Store can.
    pub fn can(&self) -> Capabilities {
        self.can
    }

    /// One fresh Store, for what stands on another.
    pub fn fresh(&self) -> Box<dyn Fresh> {
        (self.make)()
    }

    /// A fresh Store in a read-write Workspace at `/w`.
    pub fn world(&self) -> World {
        self.world_of(&[Space::at("/w")])
    }

    /// Fresh Stores, one for each Workspace.
    pub fn world_of(&self, spaces: &[Space<'_>]) -> World {
        self.world_through(spaces, |_, store| store)
    }

    /// Fresh Stores, each behind what is put in front of it; its number is that of its Workspace.
    pub fn world_through(
        &self,
        spaces: &[Space<'_>],
        wrap: impl FnMut(usize, Arc<dyn Store>) -> Arc<dyn Store>,
    ) -> World {
        World::new(spaces, self.conditions, spaces.iter().map(|_| (self.make)()).collect(), wrap)
    }
}

impl fmt::Debug for Fixture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fixture").field("can", &self.can).finish_non_exhaustive()
    }
}

/// One story of the suite.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    /// Its name: the module and what holds.
    pub name: &'static str,
    /// Panics where it does not hold.
    pub run: fn(&Fixture),
}

/// Every case, for those who run them without the macro.
pub fn suite() -> Vec<Case> {
    crate::conformance_cases! { suite }
}

/// One `#[test]` for each case, in a module of this name: `conformance_tests!(memory, fixture)`,
/// where `fixture` is a function that gives a [`Fixture`].
#[macro_export]
macro_rules! conformance_tests {
    ($module:ident, $fixture:path) => {
        $crate::conformance_cases! { tests $module ($fixture) }
    };
}

/// The list of all cases, and what can be made of it.
#[doc(hidden)]
#[macro_export]
macro_rules! conformance_cases {
    (@each (suite) $($group:ident { $($case:ident)* })*) => {
        vec![$($(
            $crate::conformance::Case {
                name: concat!(stringify!($group), "::", stringify!($case)),
                run: $crate::conformance::$group::$case,
            },
        )*)*]
    };
    (@each (tests $module:ident $fixture:tt) $($group:ident { $($case:ident)* })*) => {
        mod $module {
            #[allow(unused_imports)]
            use super::*;
            $(mod $group {
                #[allow(unused_imports)]
                use super::*;
                $(#[test]
                fn $case() {
                    $crate::conformance::$group::$case(&$fixture());
                })*
            })*
        }
    };
    (tests $module:ident $fixture:tt) => {
        $crate::conformance_cases! { @list (tests $module $fixture) }
    };
    (suite) => {
        $crate::conformance_cases! { @list (suite) }
    };
    (@list $made:tt) => {
        $crate::conformance_cases! { @each $made
            reading {
                what_was_written_reads_back
                an_empty_file_is_a_file
                a_range_gives_its_part_and_no_more
                a_large_file_reads_back_whole_and_in_parts
                what_is_not_there_is_not_found
                a_directory_is_not_read
                nothing_is_below_a_file
                reading_changes_nothing
            }
            writing {
                a_write_replaces_everything
                missing_directories_are_made
                a_directory_is_never_replaced_by_a_file
                nothing_is_written_below_a_file
                each_change_gives_a_new_version_and_nothing_else_does
                a_write_of_the_same_length_gives_a_new_version
                a_stale_version_changes_nothing
                a_version_of_what_is_gone_is_stale
                what_must_be_absent_is_not_replaced
                a_replaced_file_keeps_its_mode
            }
            altering {
                the_only_match_is_replaced
                a_text_that_is_not_there_changes_nothing
                several_matches_are_told_with_their_lines_and_none_is_taken
                all_matches_are_replaced_when_asked_for
                several_edits_apply_together_or_not_at_all
                an_edit_of_a_stale_version_changes_nothing
                what_is_not_there_cannot_be_edited
                an_edit_keeps_crlf
                an_edit_keeps_latin_1
                an_edit_keeps_utf_16
                an_edit_leaves_broken_bytes_alone
                a_binary_file_is_not_edited
                an_append_makes_what_is_not_there
                an_append_adds_at_the_end_and_nothing_else
                an_append_to_a_directory_is_refused
                an_append_keeps_crlf
                an_append_keeps_utf_16
                an_append_that_the_encoding_cannot_hold_is_refused
            }
            taking {
                a_staged_file_arrives_with_its_mode_and_time
                a_large_staged_file_arrives_whole
                a_staged_file_never_takes_the_place_of_a_directory
                a_staged_file_for_a_stale_version_changes_nothing
                a_link_and_a_file_take_each_others_place
                a_link_that_is_made_leads_nowhere_else
                a_mode_changes_and_the_content_stays
            }
            arranging {
                a_directory_is_made_with_those_above_it
                making_a_directory_that_is_there_is_fine
                no_directory_is_made_in_place_of_a_file_or_below_one
                a_file_moves
                a_directory_moves_with_everything_in_it
                a_move_makes_missing_directories_at_its_other_end
                a_move_never_replaces
                a_directory_does_not_move_into_itself
                what_is_not_there_does_not_move
                a_file_goes
                only_an_empty_directory_goes_by_itself
                a_directory_goes_with_everything_when_asked_for
                content_moves_from_one_store_to_another
            }
            walking {
                entries_come_in_tree_order
                entries_tell_what_they_are
                depth_bounds_how_far_it_goes
                a_listing_starts_anywhere
                only_a_directory_is_listed
                an_empty_workspace_lists_as_empty
                pages_meet_each_entry_exactly_once
                a_page_goes_on_after_what_is_gone
                ignore_files_count_only_when_asked_for
                ignore_files_above_the_start_count_too
                a_glob_finds_files_by_name_or_by_path
                a_directory_of_thousands_is_listed_in_order
            }
            finding {
                matching_lines_come_in_tree_order
                the_first_matches_are_told_and_that_there_are_more
                many_files_give_the_same_answer_every_time
                context_lines_come_along
                context_of_a_match_past_the_limit_is_not_told
                a_glob_chooses_files
                a_single_file_is_searched
                case_counts_unless_it_should_not
                binary_files_are_passed_over
                utf_16_files_are_searched_as_text
                a_pattern_that_cannot_be_used_is_explained
                a_costly_pattern_is_answered
                a_very_long_line_is_cut
                ignored_files_are_searched_only_when_asked_for
                a_search_goes_on_after_a_file
            }
            boundaries {
                hidden_names_are_not_listed
                hidden_names_are_not_searched
                hidden_names_are_not_reached_by_name
                a_directory_that_holds_a_hidden_name_stays
                a_nested_workspace_stands_where_its_prefix_is
                what_lies_under_a_nested_workspace_is_not_found_by_searching
                what_lies_under_a_nested_workspace_is_not_read
                a_write_only_nested_workspace_contributes_nothing
                a_directory_that_holds_a_workspace_stays
            }
            links {
                a_link_reads_as_what_it_leads_to
                a_link_is_listed_as_one_and_not_gone_into
                a_listing_or_search_may_start_at_a_link
                a_link_that_leads_out_or_in_circles_is_refused
                a_link_to_nothing_reads_as_nothing_and_is_written_where_it_leads
                a_change_through_a_link_changes_what_it_leads_to
                a_delete_takes_the_link_and_not_what_it_leads_to
                a_link_in_a_linked_directory_goes_and_moves_as_itself
                a_move_takes_the_link_itself
                a_link_tells_where_it_leads_and_is_not_followed
                where_a_link_leads_is_told_only_where_it_may_be_read
                a_link_to_a_hidden_name_is_as_hidden
                a_link_into_a_nested_workspace_is_judged_there
            }
            naming {
                unusual_names_are_ordinary
                names_that_differ_in_case_or_composition_are_two
                a_deep_path_works
                a_path_by_a_detour_is_the_same_path
            }
            racing {
                of_many_edits_none_is_lost
                of_many_appends_none_is_lost_or_torn
                edits_and_appends_of_one_file_do_not_lose_each_other
                exactly_one_of_many_creates
                exactly_one_of_many_writes_on_a_version
                exactly_one_of_many_moves_the_same_file
                a_reader_sees_one_whole_write
                a_cancelled_call_stops
                a_call_out_of_time_stops
                a_long_search_ends_soon_after_it_is_cancelled
                progress_can_be_seen
            }
            meanwhile {
                a_destination_that_appeared_is_not_replaced
                a_source_that_went_away_does_not_move
                a_file_that_became_a_directory_is_not_replaced
                a_directory_that_became_a_file_holds_nothing
                a_file_that_went_away_is_not_edited
                a_directory_that_is_no_longer_empty_stays
                what_came_later_is_not_deleted_along
                a_write_that_fails_leaves_what_was_there
                a_delete_that_fails_leaves_everything_or_nothing
                a_move_between_stores_that_fails_loses_nothing
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every case is a public function of its module; one that is not in the list would never run.
    #[test]
    fn every_case_that_is_written_is_in_the_suite() {
        let sources = [
            ("altering", include_str!("altering.rs")),
            ("arranging", include_str!("arranging.rs")),
            ("boundaries", include_str!("boundaries.rs")),
            ("finding", include_str!("finding.rs")),
            ("links", include_str!("links.rs")),
            ("meanwhile", include_str!("meanwhile.rs")),
            ("naming", include_str!("naming.rs")),
            ("racing", include_str!("racing.rs")),
            ("reading", include_str!("reading.rs")),
            ("taking", include_str!("taking.rs")),
            ("walking", include_str!("walking.rs")),
            ("writing", include_str!("writing.rs")),
        ];
        let mut written: Vec<String> = Vec::new();
        for (module, source) in sources {
            let names = source.lines().filter_map(|line| line.strip_prefix("pub fn ")?.split_once('('));
            written.extend(names.map(|(name, _)| format!("{module}::{name}")));
        }
        let mut listed: Vec<String> = suite().iter().map(|case| case.name.to_owned()).collect();
        written.sort();
        listed.sort();
        assert_eq!(written, listed);
    }
}
