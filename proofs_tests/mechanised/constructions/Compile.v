(** From formulas to VCEA, and from VCEA to CEA (CORE Thm. 2 and App. A, corrected: E9). *)

Require Import List NArith Arith Bool.
Import ListNotations.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics Mechanised.Automaton.
Require Import Mechanised.Evaluate.

Definition always {D} : predicate D := fun _ => true.

(** One event, for R and NOT. *)
Definition single {D} (P : predicate D) (L : labels) : vcea D :=
  Automaton bool [false; true] [(false, P, L, true)] negb (fun q => q).

(** Labels of transitions changed, for AS, projection and renaming. *)
Definition relabelled {D} (f : labels -> labels) (A : vcea D) : vcea D :=
  Automaton (state A) (states A)
    (map (fun '(p, P, L, q) => (p, P, f L, q)) (delta A)) (initial A) (final A).

(** Conditions on one label at a time, as a test of an event and its labels. *)
Fixpoint unary {D} (c : condition D) : bool :=
  match c with
  | Relates (Every _) [_] => true
  | AndAlso c d => unary c && unary d
  | _ => false
  end.
Fixpoint permits {D} (c : condition D) (L : labels) (t : event D) : bool :=
  match c with
  | Relates (Every P) [X] => implb (has X L) (P [t])
  | AndAlso c d => permits c L t && permits d L t
  | _ => false
  end.

Definition filtered {D} (c : condition D) (A : vcea D) : vcea D :=
  Automaton (state A) (states A)
    (map (fun '(p, P, L, q) => (p, (fun t => P t && permits c L t), L, q)) (delta A))
    (initial A) (final A).

Definition either {A B} (f : A -> bool) (g : B -> bool) (x : A + B) : bool :=
  match x with inl a => f a | inr b => g b end.

Definition lefts {D A B M} : transition D A M -> transition D (A + B) M :=
  fun '(p, P, m, q) => (inl p, P, m, inl q).
Definition rights {D A B M} : transition D B M -> transition D (A + B) M :=
  fun '(p, P, m, q) => (inr p, P, m, inr q).

Definition choice {D} (A B : vcea D) : vcea D :=
  Automaton (state A + state B) (map inl (states A) ++ map inr (states B))
    (map lefts (delta A) ++ map rights (delta B))
    (either (initial A) (initial B)) (either (final A) (final B)).

Definition into_final {D M} (A : automaton D M) : list (transition D (state A) M) :=
  filter (fun '(_, _, _, q) => final A q) (delta A).
Definition from_initial {D M} (A : automaton D M) : list (transition D (state A) M) :=
  filter (fun '(p, _, _, _) => initial A p) (delta A).
Definition starts {D M} (A : automaton D M) : list (state A) := filter (initial A) (states A).

(** [phi ; psi] where [gap], else [phi : psi]: the second part waits in its initial states. *)
Definition sequence {D} (gap : bool) (A B : vcea D) : vcea D :=
  Automaton (state A + state B) (map inl (states A) ++ map inr (states B))
    (map lefts (delta A) ++ map rights (delta B)
      ++ (if gap then map (fun p => (inr p, always, none, inr p)) (starts B) else [])
      ++ flat_map (fun '(p, P, L, _) => map (fun q => (inl p, P, L, inr q)) (starts B))
           (into_final A))
    (either (initial A) (fun _ => false)) (either (fun _ => false) (final B)).

Definition at_some {A} (f : A -> bool) (x : option A) : bool :=
  match x with Some a => f a | None => false end.

(** [phi+] where [gap], else [phi:+]: between two iterations a run is in the state [None]. *)
Definition iterated {D} (gap : bool) (A : vcea D) : vcea D :=
  Automaton (option (state A)) (None :: map Some (states A))
    (map (fun '(p, P, L, q) => (Some p, P, L, Some q)) (delta A)
      ++ (if gap then [(None, always, none, None)] else [])
      ++ map (fun '(p, P, L, _) => (Some p, P, L, None)) (into_final A)
      ++ map (fun '(_, P, L, q) => (None, P, L, Some q)) (from_initial A)
      ++ map (fun '(_, P, L, _) => (None, P, L, None))
           (filter (fun '(p, _, _, _) => initial A p) (into_final A)))
    (at_some (initial A)) (at_some (final A)).

Definition nothing {D} : vcea D := Automaton unit [] [] (fun _ => false) (fun _ => false).

(** The formulas that a VCEA has the valuations of, by these constructions. *)
Fixpoint regular {D} (phi : formula D) : bool :=
  match phi with
  | Atom _ | Not _ => true
  | As phi _ | Plus phi | ConcatPlus phi | Project _ phi | Rename _ _ phi => regular phi
  | Filter phi c => regular phi && unary c
  | Or phi psi | Seq phi psi | Concat phi psi => regular phi && regular psi
  | And _ _ | All _ _ | Unless _ _ | Select _ _ | Within _ _ => false
  end.

Fixpoint compile {D} (phi : formula D) : vcea D :=
  match phi with
  | Atom R => single (fun t => N.eqb (type t) R) (only R)
  | Not phi => single (fun t => empty (evaluate [t] phi)) none
  | As phi X => relabelled (name X) (compile phi)
  | Project L phi => relabelled (common L) (compile phi)
  | Rename X Y phi => relabelled (rename X Y) (compile phi)
  | Filter phi c => filtered c (compile phi)
  | Or phi psi => choice (compile phi) (compile psi)
  | Seq phi psi => sequence true (compile phi) (compile psi)
  | Concat phi psi => sequence false (compile phi) (compile psi)
  | Plus phi => iterated true (compile phi)
  | ConcatPlus phi => iterated false (compile phi)
  | And _ _ | All _ _ | Unless _ _ | Select _ _ | Within _ _ => nothing
  end.

(** Marks instead of labels, and one initial state that no run enters again. *)
Definition mark_of (L : labels) : mark := if is_none L then Skip else Take.

Definition marked {D} (A : vcea D) : cea D :=
  Automaton (option (state A)) (None :: map Some (states A))
    (map (fun '(p, P, L, q) => (Some p, P, mark_of L, Some q)) (delta A)
      ++ map (fun '(_, P, L, q) => (None, P, mark_of L, Some q)) (from_initial A))
    (fun p => match p with None => true | Some _ => false end) (at_some (final A)).
