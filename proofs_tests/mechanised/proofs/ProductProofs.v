(** AND, ALL and UNLESS have VCEA (SOCEL Sec. 5.2). *)

Require Import Mechanised.Tactics Mechanised.EvaluateProofs Mechanised.CompileProofs Mechanised.FiniteProofs.
Require Import Mechanised.Stream Mechanised.Formula Mechanised.Semantics Mechanised.Automaton.
Require Import Mechanised.Evaluate Mechanised.Compile Mechanised.Determinise Mechanised.Products.

(** Labels of two rows, joined event by event. *)
Fixpoint joined_rows (Ls Ms : list labels) : list labels :=
  match Ls, Ms with
  | L :: Ls, M :: Ms => both L M :: joined_rows Ls Ms
  | _, _ => []
  end.

Lemma length_joined_rows Ls : forall Ms, length Ls = length Ms -> length (joined_rows Ls Ms) = length Ls.
Proof. induction Ls as [|L Ls IH]; intros [|M Ms] E; cbn; auto; discriminate || injection E as E; now rewrite IH. Qed.

Lemma nth_joined_rows Ls : forall Ms k, length Ls = length Ms ->
  nth k (joined_rows Ls Ms) none = both (nth k Ls none) (nth k Ms none).
Proof.
  induction Ls as [|L Ls IH]; intros [|M Ms] k E; try discriminate; [destruct k; reflexivity|].
  injection E as E. destruct k as [|k]; cbn; auto.
Qed.

(** * Pairs of runs *)

Section Together.
  Context {D : Type} (A B C : vcea D) (evs : stream D).
  Variable ok : labels -> labels -> state A -> state B -> bool.
  Variable pair_ : state A * state B -> state C.
  Hypothesis injective : forall x y, pair_ x = pair_ y -> x = y.
  Hypothesis is_delta : delta C = map (fun '(x, P, L, y) => (pair_ x, P, L, pair_ y)) (together ok (delta A) (delta B)).

  Lemma step_together t m p p' y : step C t m (pair_ (p, p')) y <-> exists L L' q q', y = pair_ (q, q') /\
    m = both L L' /\ ok L L' q q' = true /\ step A t L p q /\ step B t L' p' q'.
  Proof.
    unfold step. rewrite is_delta. split.
    - intros (P & I & T). apply in_map_iff in I as ([[[x P0] L0] y0] & E & I).
      assert (x = (p, p')) as -> by (apply injective; congruence). injection E as <- <- <-.
      unfold together in I. apply in_flat_map in I as ([[[p0 P1] L] q] & I1 & I).
      apply in_flat_map in I as ([[[p0' P2] L'] q'] & I2 & I). destruct (ok L L' q q') eqn:O; [|destruct I].
      destruct I as [E|[]]. injection E as -> -> <- <- <-. apply andb_prop in T as [T1 T2].
      exists L, L', q, q'. repeat split; eauto.
    - intros (L & L' & q & q' & -> & -> & O & (P1 & I1 & T1) & (P2 & I2 & T2)).
      exists (fun u => P1 u && P2 u). split; [|now rewrite T1].
      apply in_map_iff. exists ((p, p'), (fun u => P1 u && P2 u), both L L', (q, q')). split; auto.
      unfold together. apply in_flat_map. exists (p, P1, L, q). split; auto.
      apply in_flat_map. exists (p', P2, L', q'). split; auto. rewrite O. now left.
  Qed.
End Together.

(** * AND *)

Section Same.
  Context {D : Type} (A B : vcea D) (evs : stream D).
  Let C := same_runs A B.

  Lemma step_same t m p p' q q' : step C t m (p, p') (q, q') <-> step A t m p q /\ step B t m p' q'.
  Proof.
    unfold C. rewrite (step_together A B (same_runs A B) (fun L L' _ _ => N.eqb L L') (fun x => x)); auto.
    - split.
      + intros (L & L' & r & r' & E & -> & O & H & H'). injection E as <- <-. apply N.eqb_eq in O as <-.
        unfold both. rewrite N.lor_diag. auto.
      + intros (H & H'). exists m, m, q, q'. unfold both. rewrite N.lor_diag, N.eqb_refl. auto.
    - cbn. rewrite <- map_id at 1. apply map_ext. now intros [[[x P] L] y].
  Qed.

  Lemma path_same ms : forall i p p' q q', path C evs i (p, p') ms (q, q') <->
    path A evs i p ms q /\ path B evs i p' ms q'.
  Proof.
    induction ms as [|m ms IH]; intros i p p' q q'; [rewrite !path_nil; intuition congruence|].
    rewrite !path_cons. split.
    - intros (t & [r r'] & E & H & R). apply step_same in H as [H H']. apply IH in R as [R R']. eauto 10.
    - intros ((t & r & E & H & R) & (t' & r' & E' & H' & R')). rewrite E in E'. injection E' as <-.
      exists t, (r, r'). rewrite step_same, IH. auto.
  Qed.

  Lemma accepted_same i ms : accepted C evs i ms <-> accepted A evs i ms /\ accepted B evs i ms.
  Proof.
    unfold accepted. split.
    - intros (N & [p p'] & [q q'] & I & F & R). apply path_same in R as [R R'].
      apply andb_prop in I as [I I']. apply andb_prop in F as [F F']. eauto 12.
    - intros ((N & p & q & I & F & R) & (_ & p' & q' & I' & F' & R')). split; auto. exists (p, p'), (q, q').
      cbn. rewrite I, I', F, F', path_same. auto.
  Qed.

  Lemma well_formed_same : well_formed A -> well_formed B -> well_formed C.
  Proof.
    intros [H H'] [K K']. split.
    - intros [p p'] I. apply andb_prop in I as [I I']. apply H in I as [I F]. apply K in I' as [I' _].
      split; [now apply in_pairs | cbn; now rewrite F].
    - intros x P m y I. cbn in I. unfold together in I. apply in_flat_map in I as ([[[p P1] L] q] & I1 & I).
      apply in_flat_map in I as ([[[p' P2] L'] q'] & I2 & I). destruct (N.eqb L L'); [|destruct I].
      destruct I as [E|[]]. injection E as <- _ _ <-. apply H' in I1 as (F & I1 & J1). apply K' in I2 as (_ & I2 & J2).
      cbn. rewrite F. repeat split; now apply in_pairs.
  Qed.
End Same.

(** * ALL *)

Section Padded.
  Context {D : Type} (A : vcea D) (evs : stream D).
  Hypothesis is_well_formed : well_formed A.
  Let C := padded A.

  Lemma step_ahead t m y : step C t m Ahead y <->
    (m = none /\ y = Ahead) \/ exists p q, y = At q /\ initial A p = true /\ step A t m p q.
  Proof.
    unfold step. split.
    - intros (P & I & T). destruct I as [E|[E|I]]; [injection E as _ <- <-; auto | discriminate|].
      apply in_app_iff in I as [I|I]; [|apply in_app_iff in I as [I|I]].
      + apply in_map_iff in I as (q & E & _). discriminate.
      + apply in_map_iff in I as ([[[p P'] L] q] & E & I). injection E as <- <- <-.
        apply filter_In in I as [I J]. right. exists p, q. eauto.
      + apply in_map_iff in I as ([[[p P'] L] q] & E & I). discriminate.
    - intros [(-> & ->)|(p & q & -> & J & P & I & T)].
      + exists always. split; [now left | reflexivity].
      + exists P. split; auto. right; right. apply in_app_iff. right. apply in_app_iff. left.
        apply in_map_iff. exists (p, P, m, q). split; auto. now apply filter_In.
  Qed.

  Lemma step_at t m p y : step C t m (At p) y <->
    (m = none /\ y = Past /\ final A p = true /\ In p (states A)) \/ exists q, y = At q /\ step A t m p q.
  Proof.
    unfold step. split.
    - intros (P & I & T). destruct I as [E|[E|I]]; [discriminate | discriminate|].
      apply in_app_iff in I as [I|I]; [|apply in_app_iff in I as [I|I]].
      + apply in_map_iff in I as (q & E & I). injection E as -> _ <- <-. apply filter_In in I. tauto.
      + apply in_map_iff in I as ([[[p' P'] L] q] & E & I). discriminate.
      + apply in_map_iff in I as ([[[p' P'] L] q] & E & I). injection E as <- <- <- <-. eauto 8.
    - intros [(-> & -> & F & J)|(q & -> & P & I & T)].
      + exists always. split; [|reflexivity]. right; right. apply in_app_iff. left. apply in_map_iff.
        exists p. split; auto. now apply filter_In.
      + exists P. split; auto. right; right. apply in_app_iff. right. apply in_app_iff. right.
        apply in_map_iff. now exists (p, P, m, q).
  Qed.

  Lemma step_past t m y : step C t m Past y <-> m = none /\ y = Past.
  Proof.
    unfold step. split.
    - intros (P & I & T). destruct I as [E|[E|I]]; [discriminate | injection E as _ <- <-; auto|].
      apply in_app_iff in I as [I|I]; [|apply in_app_iff in I as [I|I]].
      + apply in_map_iff in I as (q & E & _). discriminate.
      + apply in_map_iff in I as ([[[p' P'] L] q] & E & I). discriminate.
      + apply in_map_iff in I as ([[[p' P'] L] q] & E & I). discriminate.
    - intros (-> & ->). exists always. split; [right; now left | reflexivity].
  Qed.

  Definition inside_stream i (ms : list labels) : Prop := ms = [] \/ i + length ms <= length evs.

  Lemma inside_cons i m ms : inside_stream (1 + i) ms -> i < length evs -> inside_stream i (m :: ms).
  Proof. intros [->|L] H; right; cbn; lia. Qed.

  Lemma path_past ms : forall i y, path C evs i Past ms y <-> y = Past /\ ms = repeat none (length ms) /\ inside_stream i ms.
  Proof.
    induction ms as [|m ms IH]; intros i y; [rewrite path_nil; unfold inside_stream; cbn; intuition|].
    rewrite path_cons. split.
    - intros (t & x & E & T & R). apply step_past in T as (-> & ->). apply IH in R as (-> & R & L).
      repeat split; [cbn; now rewrite <- R | apply inside_cons; auto; eapply nth_error_length; eauto].
    - intros (-> & E & [L|L]); [discriminate|]. cbn in E, L. injection E as -> E.
      destruct (nth_error_found evs i) as [t Et]; [lia|]. exists t, Past. rewrite step_past, IH.
      repeat split; auto. destruct ms; [now left | right; cbn in *; lia].
  Qed.

  Lemma path_at ms : forall i p y, In p (states A) -> path C evs i (At p) ms y <->
    (exists q, y = At q /\ path A evs i p ms q) \/
    (y = Past /\ exists ms1 b f, ms = ms1 ++ repeat none (1 + b) /\ path A evs i p ms1 f /\ final A f = true /\
      i + length ms <= length evs).
  Proof.
    induction ms as [|m ms IH]; intros i p y J.
    - rewrite path_nil. split; [intros <-; left; exists p; now rewrite path_nil|].
      intros [(q & -> & R)|(_ & [|] & b & f & E & _)]; [now apply path_nil in R as -> | discriminate | discriminate].
    - rewrite path_cons. split.
      + intros (t & x & E & T & R). apply step_at in T as [(-> & -> & F & _)|(q & -> & T)].
        * apply path_past in R as (-> & R & L). right. split; auto. exists [], (length ms), p.
          rewrite path_nil. apply nth_error_length in E. repeat split; auto; [cbn; now rewrite <- R|].
          destruct L as [->|L]; cbn in *; lia.
        * assert (Jq : In q (states A)) by (destruct T as (P & I & _); now apply is_well_formed in I).
          apply IH in R as [(r & -> & R)|(-> & ms1 & b & f & -> & R & F & L)]; auto.
          -- left. exists r. rewrite path_cons. eauto 6.
          -- right. split; auto. exists (m :: ms1), b, f. rewrite path_cons. repeat split; eauto 6. cbn in *. lia.
      + intros [(q & -> & R)|(-> & ms1 & b & f & E & R & F & L)].
        * rewrite path_cons in R. destruct R as (t & r & Et & T & R). exists t, (At r). repeat split; auto.
          -- apply step_at. right. eauto.
          -- apply IH; [destruct T as (P & I & _); now apply is_well_formed in I|]. left. eauto.
        * destruct (nth_error_found evs i) as [t Et]; [cbn in L; lia|]. destruct ms1 as [|m1 ms1].
          -- apply path_nil in R as <-. cbn in E. injection E as -> ->. exists t, Past. repeat split; auto.
             ++ apply step_at. auto.
             ++ apply path_past. rewrite repeat_length. repeat split; auto.
                destruct b; [now left | right]. cbn in *. rewrite repeat_length in *. lia.
          -- cbn in E. injection E as -> ->. rewrite path_cons in R. destruct R as (t' & r & Et' & T & R).
             exists t', (At r). repeat split; auto; [apply step_at; right; eauto|].
             apply IH; [destruct T as (P & I & _); now apply is_well_formed in I|]. right. split; auto.
             exists ms1, b, f. repeat split; auto. cbn in L |- *. lia.
  Qed.

  (** A run of the part, with events before and after it. *)
  Definition part i ms a Ls b : Prop :=
    ms = repeat none a ++ Ls ++ repeat none b /\ accepted A evs (i + a) Ls /\ i + length ms <= length evs.

  Lemma path_begins i t m q ms y : nth_error evs i = Some t -> step C t m Ahead (At q) ->
    path C evs (1 + i) (At q) ms y -> final C y = true ->
    exists Ls b, part i (m :: ms) 0 Ls b /\ (is_past y = false -> b = 0).
  Proof.
    intros E T R F. pose proof (nth_error_length _ _ _ E) as Li.
    apply step_ahead in T as [(_ & T)|(p & r & Q & I & T)]; [discriminate|]. injection Q as <-.
    assert (J : In q (states A)) by (destruct T as (P & K & _); now apply is_well_formed in K).
    apply path_at in R as [(r & -> & R)|(-> & ms1 & b & f & -> & R & F' & L)]; auto.
    - exists (m :: ms), 0. split; auto. split; [cbn; now rewrite app_nil_r|]. rewrite Nat.add_0_r. split.
      + eapply accepted_cons; eassumption.
      + apply path_stop in R as [->|L]; cbn in *; lia.
    - exists (m :: ms1), (1 + b). split; [|discriminate]. split; [reflexivity|]. rewrite Nat.add_0_r.
      split; [eapply accepted_cons; eassumption | cbn in *; lia].
  Qed.

  Lemma path_ahead ms : forall i y, path C evs i Ahead ms y -> final C y = true ->
    exists a Ls b, part i ms a Ls b /\ (is_past y = false -> b = 0).
  Proof.
    induction ms as [|m ms IH]; intros i y R F.
    - apply path_nil in R as <-. discriminate.
    - rewrite path_cons in R. destruct R as (t & x & E & T & R). pose proof T as T0.
      apply step_ahead in T0 as [(-> & ->)|(p & q & -> & _)].
      + apply IH in R as (a & Ls & b & (-> & acc & L) & H); auto. exists (1 + a), Ls, b. split; auto.
        split; [reflexivity|]. split; [now replace (i + (1 + a)) with (1 + i + a) by lia | cbn in *; lia].
      + destruct (path_begins i t m q ms y E T R F) as (Ls & b & H). eauto.
  Qed.

  Lemma part_begins i ms Ls b : part i ms 0 Ls b -> exists t m ms' q y, ms = m :: ms' /\
    nth_error evs i = Some t /\ step C t m Ahead (At q) /\ path C evs (1 + i) (At q) ms' y /\
    final C y = true /\ (b = 0 -> is_past y = false).
  Proof.
    intros (-> & acc & L). rewrite Nat.add_0_r in acc. destruct acc as (N & p & q & I & F & R).
    destruct Ls as [|m Ls]; [easy|]. rewrite path_cons in R. destruct R as (t & r & E & T & R).
    assert (J : In r (states A)) by (destruct T as (P & K & _); now apply is_well_formed in K).
    assert (T0 : step C t m Ahead (At r)) by (apply step_ahead; right; eauto).
    destruct b as [|b].
    - exists t, m, Ls, r, (At q). cbn. rewrite app_nil_r. repeat split; auto.
      apply path_at; auto. left. eauto.
    - exists t, m, (Ls ++ repeat none (1 + b)), r, Past. repeat split; auto; [|discriminate].
      apply path_at; auto. right. split; auto. exists Ls, b, q. repeat split; auto. cbn in L |- *. lia.
  Qed.

  Lemma part_path a : forall i ms Ls b, part i ms a Ls b -> exists y, path C evs i Ahead ms y /\
    final C y = true /\ (b = 0 -> is_past y = false).
  Proof.
    induction a as [|a IH]; intros i ms Ls b H.
    - apply part_begins in H as (t & m & ms' & q & y & -> & E & T & R & H). exists y. split; auto.
      apply path_cons. eauto.
    - destruct H as (-> & acc & L). cbn [repeat app] in *.
      destruct (IH (1 + i) (repeat none a ++ Ls ++ repeat none b) Ls b) as (y & R & H).
      + split; auto. split; [now replace (1 + i + a) with (i + Datatypes.S a) by lia | cbn in L; lia].
      + exists y. split; auto. destruct (nth_error_found evs i) as [t E]; [cbn in L; lia|].
        apply path_cons. exists t, Ahead. repeat split; auto. apply step_ahead. auto.
  Qed.

  Lemma padded_states : well_formed A -> forall x P m y, In (x, P, m, y) (delta C) -> In x (states C) /\ In y (states C).
  Proof.
    intros [_ W] x P m y I.
    assert (in_at : forall q, In q (states A) -> In (At q) (states C)) by (intros q J; right; right; now apply in_map).
    destruct I as [E|[E|I]]; [injection E as <- _ _ <-; cbn; auto | injection E as <- _ _ <-; cbn; auto|].
    apply in_app_iff in I as [I|I]; [|apply in_app_iff in I as [I|I]].
    - apply in_map_iff in I as (q & E & I). injection E as <- _ _ <-. apply filter_In in I as [I _].
      split; [auto | right; now left].
    - apply in_map_iff in I as ([[[p P'] L] q] & E & I). injection E as <- _ _ <-. apply filter_In in I as [I _].
      split; [now left | apply in_at; now apply W in I].
    - apply in_map_iff in I as ([[[p P'] L] q] & E & I). injection E as <- _ _ <-.
      split; apply in_at; now apply W in I.
  Qed.
End Padded.

Section Overlapping.
  Context {D : Type} (A B : vcea D) (evs : stream D).
  Hypothesis wfA : well_formed A.
  Hypothesis wfB : well_formed B.
  Let C := overlapping A B.

  Lemma step_overlapping t m x x' y y' : step C t m (x, x') (y, y') <-> exists L L', m = both L L' /\
    is_ahead y && is_ahead y' = false /\ step (padded A) t L x y /\ step (padded B) t L' x' y'.
  Proof.
    unfold C. rewrite (step_together (padded A) (padded B) (overlapping A B)
      (fun _ _ x y => negb (is_ahead x && is_ahead y)) (fun x => x)); auto.
    - split.
      + intros (L & L' & r & r' & E & -> & O & H & H'). injection E as <- <-. apply negb_true_iff in O. eauto 8.
      + intros (L & L' & -> & O & H & H'). exists L, L', y, y'. now rewrite O.
    - cbn [delta overlapping]. rewrite <- map_id at 1. apply map_ext. now intros [[[u P] L] v].
  Qed.

  (** The parts begin and end, one of them with the whole. *)
  Definition parts i ms : Prop := exists Ls Ms a1 R1 b1 a2 R2 b2,
    length Ls = length Ms /\ ms = joined_rows Ls Ms /\ part A evs i Ls a1 R1 b1 /\ part B evs i Ms a2 R2 b2 /\
    (a1 = 0 \/ a2 = 0) /\ (b1 = 0 \/ b2 = 0).

  Lemma path_overlapping ms : forall i x x' y y', path C evs i (x, x') ms (y, y') -> exists Ls Ms,
    length Ls = length Ms /\ length Ls = length ms /\ ms = joined_rows Ls Ms /\
    path (padded A) evs i x Ls y /\ path (padded B) evs i x' Ms y'.
  Proof.
    induction ms as [|m ms IH]; intros i x x' y y' R.
    - apply path_nil in R. injection R as -> ->. exists [], []. rewrite !path_nil. auto.
    - rewrite path_cons in R. destruct R as (t & [z z'] & E & T & R).
      apply step_overlapping in T as (L & L' & -> & _ & T & T'). apply IH in R as (Ls & Ms & EL & EM & -> & R & R').
      exists (L :: Ls), (L' :: Ms). rewrite !path_cons. repeat split; cbn; eauto 6.
  Qed.

  Lemma overlapping_path ms : forall i x x' y y' Ls Ms, length Ls = length Ms -> ms = joined_rows Ls Ms ->
    path (padded A) evs i x Ls y -> path (padded B) evs i x' Ms y' ->
    is_ahead x && is_ahead x' = false -> path C evs i (x, x') ms (y, y').
  Proof.
    induction ms as [|m ms IH]; intros i x x' y y' [|L Ls] [|M Ms] EL E R R' O; try discriminate.
    - apply path_nil in R as ->. apply path_nil in R' as ->. now apply path_nil.
    - injection EL as EL. cbn in E. injection E as -> E. rewrite path_cons in R, R'.
      destruct R as (t & z & Et & T & R), R' as (t' & z' & Et' & T' & R'). rewrite Et in Et'. injection Et' as <-.
      assert (ahead : forall Q (w : vcea Q) u l v, step (padded w) u l v Ahead -> v = Ahead).
      { clear. intros Q w u l [|q|] T; auto.
        - apply step_at in T as [(_ & T & _)|(q' & T & _)]; discriminate.
        - apply step_past in T as (_ & T). discriminate. }
      assert (O' : is_ahead z && is_ahead z' = false).
      { destruct z as [| |]; auto. destruct z' as [| |]; auto. apply ahead in T as ->. apply ahead in T' as ->. exact O. }
      apply path_cons. exists t, (z, z'). split; auto. split; [apply step_overlapping; eauto 8|].
      eapply IH; eauto.
  Qed.

  Lemma accepted_overlapping i ms : accepted C evs i ms <-> parts i ms.
  Proof.
    split.
    - intros (N & [x x'] & [y y'] & I & F & R). apply andb_prop in I as [I I'].
      destruct x; try discriminate. destruct x'; try discriminate.
      cbn [C overlapping final] in F. apply andb_prop in F as [F P]. apply andb_prop in F as [F F'].
      apply negb_true_iff in P. destruct ms as [|m ms]; [easy|]. rewrite path_cons in R.
      destruct R as (t & [z z'] & E & T & R). apply step_overlapping in T as (L & M & -> & O & T & T').
      apply path_overlapping in R as (Ls & Ms & EL & Em & -> & R & R').
      assert (W : path (padded A) evs i Ahead (L :: Ls) y) by (apply path_cons; eauto).
      assert (W' : path (padded B) evs i Ahead (M :: Ms) y') by (apply path_cons; eauto).
      assert (ends : forall b1 b2, (is_past y = false -> b1 = 0) -> (is_past y' = false -> b2 = 0) -> b1 = 0 \/ b2 = 0).
      { intros b1 b2 H H'. destruct (is_past y); [right | left]; auto. }
      destruct z as [|q|].
      + destruct z' as [|q'|]; [discriminate | |].
        * destruct (path_begins B evs wfB i t M q' Ms y' E T' R' F') as (R2 & b2 & H2 & E2).
          destruct (path_ahead A evs wfA _ i y W F) as (a1 & R1 & b1 & H1 & E1).
          exists (L :: Ls), (M :: Ms), a1, R1, b1, 0, R2, b2. repeat split; cbn; auto; try apply H1; apply H2.
        * apply step_ahead in T' as [(_ & T')|(p & q & T' & _)]; discriminate.
      + destruct (path_begins A evs wfA i t L q Ls y E T R F) as (R1 & b1 & H1 & E1).
        destruct (path_ahead B evs wfB _ i y' W' F') as (a2 & R2 & b2 & H2 & E2).
        exists (L :: Ls), (M :: Ms), 0, R1, b1, a2, R2, b2. repeat split; cbn; auto; try apply H1; apply H2.
      + apply step_ahead in T as [(_ & T)|(p & q & T & _)]; discriminate.
    - intros (Ls & Ms & a1 & R1 & b1 & a2 & R2 & b2 & EL & -> & H1 & H2 & a0 & b0).
      assert (done : forall y y', final (padded A) y = true -> final (padded B) y' = true ->
        (b1 = 0 -> is_past y = false) -> (b2 = 0 -> is_past y' = false) -> final C (y, y') = true).
      { intros y y' F F' G G'. cbn [C overlapping final]. rewrite F, F'. cbn.
        destruct b0 as [Z|Z]; [rewrite (G Z) | rewrite (G' Z), andb_false_r]; reflexivity. }
      destruct a0 as [-> | ->].
      + destruct (part_begins A evs wfA _ _ _ _ H1) as (t & L & Ls' & q & y & -> & E & T & R & F & G).
        destruct (part_path B evs wfB _ _ _ _ _ H2) as (y' & R' & F' & G').
        destruct Ms as [|M Ms]; [discriminate|]. rewrite path_cons in R'. destruct R' as (t' & z' & E' & T' & R').
        rewrite E in E'. injection E' as <-. split; [discriminate|]. exists (Ahead, Ahead), (y, y').
        split; [reflexivity|]. split; [auto|]. apply path_cons. exists t, (At q, z'). split; auto.
        split; [apply step_overlapping; eauto 8|]. injection EL as EL. eapply overlapping_path; eauto.
      + destruct (part_begins B evs wfB _ _ _ _ H2) as (t & M & Ms' & q' & y' & -> & E & T' & R' & F' & G').
        destruct (part_path A evs wfA _ _ _ _ _ H1) as (y & R & F & G).
        destruct Ls as [|L Ls]; [discriminate|]. rewrite path_cons in R. destruct R as (t' & z & E' & T & R).
        rewrite E in E'. injection E' as <-. split; [discriminate|]. exists (Ahead, Ahead), (y, y').
        split; [reflexivity|]. split; [auto|]. apply path_cons. exists t, (z, At q'). split; auto.
        split; [apply step_overlapping; exists L, M; rewrite andb_false_r; auto|].
        injection EL as EL. eapply overlapping_path; eauto. apply andb_false_r.
  Qed.

  Lemma well_formed_overlapping : well_formed C.
  Proof.
    split.
    - intros [x x'] I. apply andb_prop in I as [I I']. destruct x; try discriminate. destruct x'; try discriminate.
      split; [apply in_pairs; cbn; auto | reflexivity].
    - intros u P m v I. cbn [C overlapping delta] in I. unfold together in I.
      apply in_flat_map in I as ([[[x P1] L] y] & I1 & I). apply in_flat_map in I as ([[[x' P2] L'] y'] & I2 & I).
      destruct (negb (is_ahead y && is_ahead y')) eqn:O; [|destruct I]. destruct I as [E|[]].
      injection E as <- _ _ <-. apply negb_true_iff in O.
      destruct (padded_states A wfA _ _ _ _ I1) as [X Y], (padded_states B wfB _ _ _ _ I2) as [X' Y'].
      split; [exact O|]. split; now apply in_pairs.
  Qed.
End Overlapping.

(** The rows of a union are joined, padded to its interval. *)
Lemma nth_padded a Ls b k : nth k (repeat none a ++ Ls ++ repeat none b) none =
  if a <=? k then nth (k - a) Ls none else none.
Proof.
  destruct (a <=? k) eqn:E; reflect.
  - rewrite app_nth2 by (rewrite repeat_length; lia). rewrite repeat_length.
    destruct (Nat.lt_ge_cases (k - a) (length Ls)) as [L|L].
    + now rewrite app_nth1.
    + rewrite app_nth2, nth_repeat_none by auto. now rewrite nth_overflow.
  - rewrite app_nth1 by (rewrite repeat_length; lia). apply nth_repeat_none.
Qed.

Lemma union_padded i a1 R1 b1 a2 R2 b2 : R1 <> [] -> R2 <> [] ->
  a1 + length R1 + b1 = a2 + length R2 + b2 -> a1 = 0 \/ a2 = 0 -> b1 = 0 \/ b2 = 0 ->
  union (Valuation (i + a1) R1) (Valuation (i + a2) R2) = Valuation i
    (joined_rows (repeat none a1 ++ R1 ++ repeat none b1) (repeat none a2 ++ R2 ++ repeat none b2)).
Proof.
  intros N1 N2 E Z Z'. set (V := Valuation (i + a1) R1). set (W := Valuation (i + a2) R2).
  assert (F : Nat.min (first V) (first W) = i) by (cbn; lia). unfold union. rewrite F.
  set (rows := joined_rows _ _).
  assert (LR : length rows = a1 + length R1 + b1).
  { unfold rows. rewrite length_joined_rows; rewrite !app_length, !repeat_length; lia. }
  assert (LU : Nat.max (stop V) (stop W) - i = length rows) by (unfold stop; cbn; lia).
  rewrite LU. f_equal. transitivity (map (fun k => nth (k - i) rows none) (seq i (length rows))); [|apply map_nth_seq].
  apply map_ext_in. intros k K. apply in_seq in K.
  unfold rows. rewrite nth_joined_rows by (rewrite !app_length, !repeat_length; lia). rewrite !nth_padded.
  unfold at_position; cbn [first row V W].
  assert (one_side : forall a R, (if i + a <=? k then nth (k - (i + a)) R none else none) =
    (if a <=? k - i then nth (k - i - a) R none else none)).
  { intros a R. destruct (i + a <=? k) eqn:G, (a <=? k - i) eqn:G'; reflect; try lia; auto. f_equal. lia. }
  now rewrite !one_side.
Qed.

(** * UNLESS *)

Section WithoutRuns.
  Context {D : Type} (A B : vcea D) (dec : decidable_states B) (evs : stream D).
  Hypothesis wfA : well_formed A.
  Hypothesis wfB : well_formed B.
  Let C := without A B dec.

  (** The states of runs of B over the events from i to before k. *)
  Definition running i k (U : list (state B)) : Prop := forall q, In q U <-> exists j Ls p,
    i <= j /\ j + length Ls = k /\ Ls <> [] /\ initial B p = true /\ path B evs j p Ls q.

  Lemma in_follow t U q : In q (follow B dec t U) <-> exists p L, (In p U \/ initial B p = true) /\ step B t L p q.
  Proof.
    unfold follow, step. rewrite filter_In, existsb_exists. split.
    - intros (_ & [[[p P] L] q'] & I & H). apply andb_prop in H as [H Q]. apply andb_prop in H as [H T].
      destruct (dec q q') as [<-|]; [|discriminate]. exists p, L. split; [|eauto].
      apply orb_prop in H as [H|H]; auto. destruct (in_dec dec p U); [auto | discriminate].
    - intros (p & L & H & P & I & T). split; [now apply wfB in I|]. exists (p, P, L, q). split; auto.
      rewrite T, andb_true_r. destruct (dec q q); [|easy]. rewrite andb_true_r. apply orb_true_iff.
      destruct H as [H|H]; auto. left. destruct (in_dec dec p U); [auto | easy].
  Qed.

  Lemma running_follow i k t U : i <= k -> nth_error evs k = Some t -> running i k U -> running i (1 + k) (follow B dec t U).
  Proof.
    intros L E H q. rewrite in_follow. split.
    - intros (p & M & [I|I] & T).
      + apply H in I as (j & Ls & p0 & Lj & Ek & N & I & R). exists j, (Ls ++ [M]), p0.
        rewrite app_length. cbn. repeat split; auto; [lia | now destruct Ls|]. apply path_app. exists p. split; auto.
        rewrite Ek. apply path_cons. exists t, q. rewrite path_nil. auto.
      + exists k, [M], p. cbn. repeat split; auto; [lia | easy|]. apply path_cons. exists t, q. rewrite path_nil. auto.
    - intros (j & Ls & p0 & Lj & Ek & N & I & R). destruct (exists_last N) as (Ls' & M & ->).
      rewrite app_length in Ek. cbn in Ek. apply path_app in R as (p & R & T). rewrite path_cons in T.
      destruct T as (u & q' & Eu & T & Q). apply path_nil in Q as ->.
      replace (j + length Ls') with k in Eu by lia. rewrite E in Eu. injection Eu as <-. exists p, M.
      split; auto. destruct Ls' as [|M' Ls'].
      + apply path_nil in R as <-. auto.
      + left. apply H. exists j, (M' :: Ls'), p0. repeat split; auto; [lia | easy].
  Qed.

  Lemma step_without t m p U q U' : step C t m (p, U) (q, U') <-> step A t m p q /\ In U (sublists (states B)) /\
    U' = follow B dec t U /\ existsb (final B) U' = false.
  Proof.
    unfold step. split.
    - intros (P & I & T). cbn [C without delta] in I. apply in_flat_map in I as ([[[p0 P0] L] q0] & I0 & I).
      apply in_flat_map in I as (U0 & IU & I). apply in_map_iff in I as (U1 & E & _).
      injection E as -> -> <- -> -> ->. apply andb_prop in T as [T N]. apply andb_prop in T as [T F].
      destruct (list_eq_dec dec (follow B dec t U) U') as [<-|]; [|discriminate]. apply negb_true_iff in N. eauto 6.
    - intros ((P & I & T) & IU & -> & N). eexists. split.
      + cbn [C without delta]. apply in_flat_map. exists (p, P, m, q). split; eauto. apply in_flat_map.
        exists U. split; auto. apply in_map_iff. exists (follow B dec t U). split; [reflexivity|]. apply sublists_filter.
      + cbn. rewrite T, N. now destruct (list_eq_dec dec (follow B dec t U) (follow B dec t U)).
  Qed.

  (** No run of B is accepted inside i to k, and ends after the event k0. *)
  Definition free i k0 k : Prop := forall j Ls, i <= j -> k0 < j + length Ls -> j + length Ls <= k -> ~ accepted B evs j Ls.

  Lemma no_final i k U : running i (1 + k) U -> existsb (final B) U = false <-> free i k (1 + k).
  Proof.
    intros H. rewrite <- not_true_iff_false, existsb_exists. split.
    - intros N j Ls L1 L2 L3 (NL & p & q & I & F & R). apply N. exists q. split; auto. apply H.
      exists j, Ls, p. repeat split; auto. lia.
    - intros N (q & I & F). apply H in I as (j & Ls & p & L1 & L2 & NL & I & R).
      apply (N j Ls); auto; [lia | lia|]. split; auto. now exists p, q.
  Qed.

  Lemma path_without i ms : forall k p U q, i <= k -> In U (sublists (states B)) -> running i k U ->
    (exists U', path C evs k (p, U) ms (q, U')) <-> path A evs k p ms q /\ free i k (k + length ms).
  Proof.
    induction ms as [|m ms IH]; intros k p U q L IU H; cbn [length].
    - rewrite path_nil. split.
      + intros (U' & R). apply path_nil in R. injection R as -> _. split; auto. intros j Ls L1 L2 L3. lia.
      + intros (-> & _). exists U. now apply path_nil.
    - split.
      + intros (U' & R). rewrite path_cons in R. destruct R as (t & [r V] & E & T & R).
        apply step_without in T as (T & _ & -> & N). pose proof (running_follow i k t U L E H) as H'.
        apply (no_final i k _ H') in N.
        destruct (proj1 (IH (1 + k) r _ q ltac:(lia) (sublists_filter _ _) H')) as (R' & F); [eauto|].
        split; [apply path_cons; eauto|]. intros j Ls L1 L2 L3.
        destruct (Nat.eq_dec (j + length Ls) (1 + k)) as [X|X]; [apply N; lia | apply F; lia].
      + intros (R & F). rewrite path_cons in R. destruct R as (t & r & E & T & R).
        pose proof (running_follow i k t U L E H) as H'.
        destruct (proj2 (IH (1 + k) r _ q ltac:(lia) (sublists_filter _ _) H')) as (U' & R').
        { split; auto. intros j Ls L1 L2 L3. apply F; lia. }
        exists U'. apply path_cons. exists t, (r, follow B dec t U). repeat split; auto. apply step_without.
        repeat split; auto. apply (no_final i k _ H'). intros j Ls L1 L2 L3. apply F; lia.
  Qed.

  Lemma accepted_without i ms : accepted C evs i ms <-> accepted A evs i ms /\
    forall j Ls, i <= j -> j + length Ls <= i + length ms -> ~ accepted B evs j Ls.
  Proof.
    assert (start : running i i []).
    { intros q. split; [easy|]. intros (j & Ls & p & L1 & L2 & N & _). destruct Ls; [easy | cbn in L2; lia]. }
    assert (all : free i i (i + length ms) <-> forall j Ls, i <= j -> j + length Ls <= i + length ms -> ~ accepted B evs j Ls).
    { split; intros F j Ls L1; [|intros L2 L3; now apply F].
      intros L3 acc. apply (F j Ls); auto. destruct acc as (N & _). destruct Ls; [easy | cbn; lia]. }
    rewrite <- all. split.
    - intros (N & [p U] & [q U'] & I & F & R). apply andb_prop in I as [I IU]. destruct U; [|discriminate].
      destruct (proj1 (path_without i ms i p [] q (le_n i) (nil_in_sublists _) start)) as (R' & G); [eauto|].
      split; auto. split; auto. now exists p, q.
    - intros ((N & p & q & I & F & R) & G). split; auto.
      destruct (proj2 (path_without i ms i p [] q (le_n i) (nil_in_sublists _) start)) as (U' & R'); [auto|].
      exists (p, []), (q, U'). cbn. rewrite I. auto.
  Qed.

  Lemma well_formed_without : well_formed C.
  Proof.
    destruct wfA as [H H']. split.
    - intros [p U] I. apply andb_prop in I as [I IU]. destruct U; [|discriminate]. apply H in I as [I F].
      split; auto. apply in_pairs. split; auto. apply nil_in_sublists.
    - intros x P m y I. cbn [C without delta] in I. apply in_flat_map in I as ([[[p0 P0] L] q0] & I0 & I).
      apply in_flat_map in I as (U0 & IU & I). apply in_map_iff in I as (U1 & E & IU1).
      injection E as <- _ _ <-. apply H' in I0 as (F & I1 & I2). cbn. rewrite F.
      repeat split; now apply in_pairs.
  Qed.
End WithoutRuns.

(** * Formulas *)

Section Formulas.
  Context {D : Type} (evs : stream D) (phi psi : formula D) (A B : vcea D).
  Hypothesis rowsA : has_rows evs phi A.
  Hypothesis rowsB : has_rows evs psi B.
  Hypothesis wfA : well_formed A.
  Hypothesis wfB : well_formed B.

  Lemma rows_and : has_rows evs (And phi psi) (same_runs A B).
  Proof. intros i ms. cbn. now rewrite accepted_same, (rowsA i ms), (rowsB i ms). Qed.

  Lemma rows_all : has_rows evs (All phi psi) (overlapping A B).
  Proof.
    intros i ms. rewrite accepted_overlapping by auto. cbn [sat]. split.
    - intros ([f1 R1] & [f2 R2] & H1 & H2 & E).
      pose proof (sat_proper _ _ _ H1) as [N1 L1]. pose proof (sat_proper _ _ _ H2) as [N2 L2].
      apply rowsA in H1. apply rowsB in H2. unfold stop in *; cbn [first row] in *.
      set (lo := Nat.min f1 f2). set (hi := Nat.max (f1 + length R1) (f2 + length R2)).
      set (a1 := f1 - lo). set (a2 := f2 - lo). set (b1 := hi - (f1 + length R1)). set (b2 := hi - (f2 + length R2)).
      assert (E1 : f1 = lo + a1) by (unfold a1, lo; lia). assert (E2 : f2 = lo + a2) by (unfold a2, lo; lia).
      rewrite E1, E2 in E. rewrite (union_padded lo a1 R1 b1 a2 R2 b2) in E; auto;
        try (unfold a1, a2, b1, b2, hi, lo; lia).
      injection E as -> ->. exists (repeat none a1 ++ R1 ++ repeat none b1), (repeat none a2 ++ R2 ++ repeat none b2).
      exists a1, R1, b1, a2, R2, b2. unfold part. rewrite <- E1, <- E2, !app_length, !repeat_length.
      repeat split; auto; first [apply H1 | apply H2 | unfold a1, a2, b1, b2, hi, lo; lia].
    - intros (Ls & Ms & a1 & R1 & b1 & a2 & R2 & b2 & EL & -> & (-> & acc1 & L1) & (-> & acc2 & L2) & Z & Z').
      exists (Valuation (i + a1) R1), (Valuation (i + a2) R2). split; [now apply rowsA|]. split; [now apply rowsB|].
      symmetry. rewrite !app_length, !repeat_length in EL. apply union_padded; auto; [apply acc1 | apply acc2 | lia].
  Qed.

  Lemma rows_unless (dec : decidable_states B) : has_rows evs (Unless phi psi) (without A B dec).
  Proof.
    intros i ms. rewrite accepted_without by auto. cbn [sat]. rewrite (rowsA i ms). apply and_iff_compat_l. split.
    - intros N j Ls L1 L2 acc. apply rowsB in acc. apply (N _ acc). split; auto.
    - intros N [j Ls] sat [L1 L2]. apply rowsB in sat. now apply (N j Ls).
  Qed.
End Formulas.

Definition has_automaton {D} (phi : formula D) : Prop := exists A : vcea D,
  inhabited (decidable_states A) /\ well_formed A /\ forall evs, has_rows evs phi A.

Lemma filter_has_automaton {D} (c : condition D) : unary_parts c = true -> forall phi,
  has_automaton phi -> has_automaton (Filter phi c).
Proof.
  induction c as [P Xs | c IHc d IHd | c IHc d IHd]; cbn [unary_parts]; intros U phi (A & [dec] & W & H).
  - exists (filtered (Relates P Xs) A). split; [now constructor|]. split; [now apply well_formed_filtered|].
    intros evs i ms. rewrite accepted_filtered. cbn [sat]. rewrite (H evs i ms).
    now rewrite (permitted_holds (Relates P Xs) evs (Valuation i ms)).
  - apply andb_prop in U as [U U']. destruct (IHd U' (Filter phi c)) as (B & dB & WB & HB).
    { apply IHc; auto. exists A. split; [now constructor | now split]. }
    exists B. split; [exact dB|]. split; [exact WB|]. intros evs i ms. rewrite <- (HB evs i ms). cbn. tauto.
  - apply andb_prop in U as [U U']. destruct (IHc U phi) as (B & [dB] & WB & HB); [exists A; split; [now constructor | now split]|].
    destruct (IHd U' phi) as (C & [dC] & WC & HC); [exists A; split; [now constructor | now split]|].
    exists (choice B C). split; [|split; [now apply well_formed_choice|]].
    + constructor. intros [p|p] [q|q]; try (right; discriminate); [destruct (dB p q) | destruct (dC p q)];
        [left | right | left | right]; congruence.
    + intros evs i ms. rewrite accepted_choice, <- (HB evs i ms), <- (HC evs i ms). cbn. tauto.
Qed.

Theorem automata_of_formulas {D} (phi : formula D) : has_vcea phi = true -> has_automaton phi.
Proof.
  assert (of_sum : forall A B : vcea D, decidable_states A -> decidable_states B ->
    forall x y : state A + state B, {x = y} + {x <> y}) by (intros A B d d'; decide equality).
  assert (of_option : forall A : vcea D, decidable_states A -> forall x y : option (state A), {x = y} + {x <> y})
    by (intros A d; decide equality).
  assert (of_place : forall A : vcea D, decidable_states A -> forall x y : place (state A), {x = y} + {x <> y})
    by (intros A d; decide equality).
  assert (relabelled_ : forall (phi psi : formula D) f, (forall evs V, V |=[evs] psi <-> exists W, W |=[evs] phi /\ V = relabel f W) ->
    has_automaton phi -> has_automaton psi).
  { intros phi0 psi0 f E (A & [d] & W & H). exists (relabelled f A). split; [now constructor|].
    split; [now apply well_formed_relabelled|]. intros evs. eapply rows_relabelled; eauto. }
  assert (compiled : forall phi : formula D, decidable_states (compile phi) -> regular phi = true -> has_automaton phi).
  { intros phi0 d R. exists (compile phi0). split; [now constructor|]. split; [apply compile_well_formed|].
    intros evs. now apply compile_correct. }
  induction phi as [R | phi IH X | phi IH c | phi IH psi IH' | phi IH psi IH' | phi IH psi IH' | phi IH psi IH'
    | phi IH | phi IH | L phi IH | X Y phi IH | phi IH psi IH' | phi IH psi IH' | phi _ | s phi IH | phi IH w];
    cbn [has_vcea]; intros V; try discriminate; try (apply andb_prop in V as [V V']);
    try specialize (IH V); try specialize (IH' V').
  - apply compiled; [cbn; exact bool_dec | reflexivity].
  - apply (relabelled_ phi _ (name X)); [reflexivity | exact IH].
  - now apply filter_has_automaton.
  - destruct IH as (A & [d] & W & H), IH' as (B & [d'] & W' & H'). exists (choice A B).
    split; [constructor; exact (of_sum _ _ d d')|]. split; [now apply well_formed_choice|].
    intros evs i ms. rewrite accepted_choice. cbn. now rewrite (H evs i ms), (H' evs i ms).
  - destruct IH as (A & [d] & W & H), IH' as (B & [d'] & W' & H'). exists (same_runs A B).
    split; [constructor; exact (pair_dec d d')|]. split; [now apply well_formed_same|]. intros evs. now apply rows_and.
  - destruct IH as (A & [d] & W & H), IH' as (B & [d'] & W' & H'). exists (sequence true A B).
    split; [constructor; exact (of_sum _ _ d d')|]. split; [now apply well_formed_sequence|].
    intros evs i ms. exact (rows_sequence evs true _ _ _ _ i ms (H evs) (H' evs) W W').
  - destruct IH as (A & [d] & W & H), IH' as (B & [d'] & W' & H'). exists (sequence false A B).
    split; [constructor; exact (of_sum _ _ d d')|]. split; [now apply well_formed_sequence|].
    intros evs i ms. exact (rows_sequence evs false _ _ _ _ i ms (H evs) (H' evs) W W').
  - destruct IH as (A & [d] & W & H). exists (iterated true A).
    split; [constructor; exact (of_option _ d)|]. split; [now apply well_formed_iterated|].
    intros evs i ms. exact (rows_iterated evs true _ _ i ms (H evs) W).
  - destruct IH as (A & [d] & W & H). exists (iterated false A).
    split; [constructor; exact (of_option _ d)|]. split; [now apply well_formed_iterated|].
    intros evs i ms. exact (rows_iterated evs false _ _ i ms (H evs) W).
  - apply (relabelled_ phi _ (common L)); [reflexivity | exact IH].
  - apply (relabelled_ phi _ (rename X Y)); [reflexivity | exact IH].
  - destruct IH as (A & [d] & W & H), IH' as (B & [d'] & W' & H'). exists (overlapping A B).
    split; [constructor; exact (pair_dec (of_place _ d) (of_place _ d'))|]. split; [now apply well_formed_overlapping|].
    intros evs. now apply rows_all.
  - destruct IH as (A & [d] & W & H), IH' as (B & [d'] & W' & H'). exists (without A B d').
    split; [constructor; exact (pair_dec d (list_eq_dec d'))|].
    split; [now apply well_formed_without|]. intros evs. now apply rows_unless.
  - apply compiled; [cbn; exact bool_dec | reflexivity].
Qed.
