(** NXT and LAST as printed (FOUND App. C.3), which are wrong (E6, E7). *)

Require Import List Bool.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Automaton Mechanised.Strategies.

(** A run knows an ordered partition of all states
    that are reached, the best first. It may enter a state unless a better class enters it. *)
Section Printed.
  Context {D : Type} (A : cea D) (dec : decidable_states A) (s : strategy).
  Notation set := (list (state A)).
  Definition minus (U V : set) : set := filter (fun q => if in_dec dec q V then false else true) U.
  Definition meets (U : set) : bool := existsb (final A) U.
  Definition starts : set := filter (initial A) (states A).

  (** The states that an event and a mark lead to. *)
  Definition moves (t : event D) (m : mark) (U : set) : set :=
    flat_map (fun p => flat_map (fun '(p', P, n, q) =>
      if dec p p' then
        match P t, m, n with true, Take, Take | true, Skip, Skip => [q] | _, _, _ => [] end
      else []) (delta A)) U.

  Fixpoint disjoint (seen : set) (Us : list set) : list set :=
    match Us with
    | [] => []
    | U :: Us => minus U seen :: disjoint (seen ++ U) Us
    end.
  Fixpoint classes (ts : stream D) : list set :=
    match ts with
    | [] => [starts]
    | t :: ts => disjoint [] (match s with
        | Last => map (moves t Take) (classes ts) ++ map (moves t Skip) (classes ts)
        | _ => flat_map (fun U => [moves t Take U; moves t Skip U]) (classes ts)
        end)
    end.

  (** The states of the classes before that of p, and those of its own. *)
  Fixpoint up_to (Us : list set) (p : state A) : set * set :=
    match Us with
    | [] => ([], [])
    | U :: Us => if in_dec dec p U then ([], U)
        else let '(earlier, own) := up_to Us p in (U ++ earlier, own)
    end.
  Definition blocked (Us : list set) t m (p q : state A) : bool :=
    let '(earlier, own) := up_to Us p in
    let entered := moves t Take earlier ++ moves t Skip earlier ++
      match m with Skip => moves t Take own | Take => [] end in
    if in_dec dec q entered then true else false.
  Fixpoint printed_runs (ts : stream D) (w : list mark) : set :=
    match ts, w with
    | t :: ts, m :: w => flat_map (fun p =>
        filter (fun q => negb (blocked (classes ts) t m p q)) (moves t m [p])) (printed_runs ts w)
    | _, _ => starts
    end.
  Definition printed_recognises (ts : stream D) (w : list mark) : Prop :=
    length w = length ts /\ (exists w', w = Take :: w') /\
    existsb (fun p => final A p && negb (meets (fst (up_to (classes ts) p)))) (printed_runs ts w) = true.
End Printed.
